//! Sessions: what the sweep reads of them, and the tables that their supervisor keeps.

use super::{exemptions, facts, session_subjects};

facts! {
    session_facts {
        identifier -> Nullable<Text>,
        declared_wait -> Nullable<Text>,
        issue_id -> Nullable<Id>,
        issue_status -> Nullable<Text>,
        issue_has_live_run -> Bool,
        issue_wake_since -> Nullable<Instant>,
        started_at -> Instant,
        progressed_at -> Instant,
        ended_at -> Nullable<Instant>,
        exit_code -> Nullable<Integer>,
        silent_after_seconds -> Nullable<Integer>,
        recent_output -> Text,
        takes_commands -> Bool,
        pending_command_since -> Nullable<Instant>,
        reports_progress -> Bool,
        takes_nudges -> Bool,
        agent_state -> Nullable<Text>,
        agent_state_kind -> Nullable<Text>,
        agent_state_since -> Nullable<Instant>,
        agent_question -> Nullable<Text>,
        agent_state_evidence -> Nullable<Text>,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::store::types::sql::*;
    sessions (id) {
        id -> Id,
        tenant -> Text,
        identifier -> Nullable<Text>,
        title -> Text,
        agent_id -> Nullable<Id>,
        issue_id -> Nullable<Id>,
        status -> Text,
        stall_paused -> Bool,
        started_at -> Nullable<Instant>,
        last_activity_at -> Nullable<Instant>,
        last_progress_at -> Nullable<Instant>,
        last_tool -> Nullable<Text>,
        recent_output -> Text,
        exit_code -> Nullable<Integer>,
        ended_at -> Nullable<Instant>,
        silent_after_seconds -> Nullable<Integer>,
        takes_nudges -> Bool,
        agent_state -> Nullable<Text>,
        agent_state_kind -> Nullable<Text>,
        agent_state_since -> Nullable<Instant>,
        agent_question -> Nullable<Text>,
        agent_state_evidence -> Nullable<Text>,
        resumes_at -> Nullable<Instant>,
        updated_at -> Instant,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::store::types::sql::*;
    session_commands (id) {
        id -> Id,
        session_id -> Id,
        command -> Text,
        message -> Nullable<Text>,
        status -> Text,
        requested_by -> Text,
        created_at -> Instant,
        updated_at -> Instant,
    }
}

diesel::allow_tables_to_appear_in_same_query!(session_facts, exemptions, session_subjects);
