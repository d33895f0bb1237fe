//! The relations that the sweep reads and writes; docs/hosts.md is their contract.

mod ledger;
pub mod sessions;
pub mod work;

pub use ledger::*;

/// The subjects of one kind that are in progress: what a share of them is measured against.
macro_rules! subjects {
    ($view:ident) => {
        diesel::table! {
            use diesel::sql_types::*;
            use crate::store::types::sql::*;
            $view (subject_id) {
                subject_id -> Id,
                group_id -> Id,
                tenant -> Text,
            }
        }
    };
}
subjects!(session_subjects);
subjects!(issue_subjects);
subjects!(step_subjects);

/// A nominating view: subjects of one kind, their group and their place in the scan.
macro_rules! candidates {
    ($view:ident) => {
        diesel::table! {
            use diesel::sql_types::*;
            use crate::store::types::sql::*;
            $view (subject_id) {
                subject_id -> Id,
                group_id -> Id,
                since -> Instant,
                tenant -> Text,
            }
        }
    };
}
candidates!(session_candidates);
candidates!(issue_candidates);
candidates!(step_candidates);

/// The facts of one kind: who and what it is, its history in the ledger, and what this kind alone has.
macro_rules! facts {
    ($view:ident { $($column:ident -> $type:ty,)+ }) => {
        diesel::table! {
            use diesel::sql_types::*;
            use crate::store::types::sql::*;
            $view (subject_id) {
                subject_id -> Id,
                tenant -> Text,
                title -> Text,
                status -> Text,
                agent_id -> Nullable<Id>,
                agent_name -> Nullable<Text>,
                agent_status -> Nullable<Text>,
                idle_since -> Instant,
                episode_began_at -> Instant,
                attempts -> BigInt,
                attempts_last_day -> BigInt,
                last_attempt_at -> Nullable<Instant>,
                escalated -> Bool,
                escalations_last_day -> BigInt,
                open_recovery_id -> Nullable<Id>,
                open_recovery_action -> Nullable<Text>,
                open_recovery_at -> Nullable<Instant>,
                observed_at -> Instant,
                $($column -> $type,)+
            }
        }
    };
}
pub(crate) use facts;

facts! {
    issue_facts {
        identifier -> Nullable<Text>,
        assigned_to_user -> Bool,
        has_live_run -> Bool,
        pending_wake_since -> Nullable<Instant>,
        pending_wake -> Nullable<Text>,
        declared_wait -> Nullable<Text>,
        obstacle -> Nullable<Text>,
        last_run_id -> Nullable<Id>,
        last_run_ended_at -> Nullable<Instant>,
        last_run_end -> Nullable<Text>,
        host_plan -> Nullable<Text>,
        unreachable -> Nullable<Text>,
        run_end_grace_seconds -> Double,
        resume_advice -> Text,
        attempts_unserved -> BigInt,
        last_attempt_ended_at -> Nullable<Instant>,
    }
}

facts! {
    step_facts {
        identifier -> Text,
        plan_id -> Id,
        plan_status -> Text,
        position -> Integer,
        stalled_after_seconds -> Nullable<Integer>,
        issue_id -> Nullable<Id>,
        has_live_run -> Bool,
        pending_wake_since -> Nullable<Instant>,
        pending_wake -> Nullable<Text>,
        attempts_unserved -> BigInt,
        last_attempt_ended_at -> Nullable<Instant>,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::store::types::sql::*;
    host_blocks (subject_id) {
        subject_id -> Id,
        tenant -> Text,
        identifier -> Nullable<Text>,
        title -> Text,
        agent_name -> Nullable<Text>,
        since -> Instant,
        reason -> Text,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    host_behavior (run_end_grace_seconds) {
        run_end_grace_seconds -> Double,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::store::types::sql::*;
    issues (id) {
        id -> Id,
        identifier -> Nullable<Text>,
        status -> Text,
        assignee_agent_id -> Nullable<Id>,
        unblock_action -> Nullable<Text>,
        updated_at -> Instant,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::store::types::sql::*;
    plans (id) {
        id -> Id,
        tenant -> Text,
        title -> Text,
        status -> Text,
        updated_at -> Instant,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::store::types::sql::*;
    wakes (id) {
        id -> Id,
        agent_id -> Id,
        issue_id -> Nullable<Id>,
        plan_step_id -> Nullable<Id>,
        reason -> Text,
        payload -> Document,
        requested_by -> Text,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::store::types::sql::*;
    comments (id) {
        id -> Id,
        issue_id -> Id,
        author -> Text,
        body -> Text,
    }
}

diesel::allow_tables_to_appear_in_same_query!(issue_facts, exemptions, issue_subjects);
diesel::allow_tables_to_appear_in_same_query!(step_facts, exemptions, step_subjects);
diesel::allow_tables_to_appear_in_same_query!(session_candidates, failures);
diesel::allow_tables_to_appear_in_same_query!(session_subjects, failures);
diesel::allow_tables_to_appear_in_same_query!(issue_candidates, failures);
diesel::allow_tables_to_appear_in_same_query!(step_candidates, failures);
diesel::allow_tables_to_appear_in_same_query!(issue_subjects, failures);
diesel::allow_tables_to_appear_in_same_query!(step_subjects, failures);
diesel::allow_tables_to_appear_in_same_query!(recoveries, exemptions);
