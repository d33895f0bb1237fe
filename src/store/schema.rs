//! The relations that the sweep reads and writes; docs/host-reference.md is their contract.

macro_rules! relations {
    ($($name:ident ($($key:ident),+) { $($columns:tt)* })+) => {
        $(diesel::table! {
            use diesel::sql_types::*;
            use crate::store::types::sql::*;
            $name ($($key),+) { $($columns)* }
        })+
    };
}

// The subjects of one kind that are in progress, against which a share of them is measured; and a nominating view:
// subjects of one kind, their group and their place in the scan.
relations! {
    session_subjects (subject_id) { subject_id -> Id, group_id -> Id, tenant -> Text, }
    issue_subjects (subject_id) { subject_id -> Id, group_id -> Id, tenant -> Text, }
    step_subjects (subject_id) { subject_id -> Id, group_id -> Id, tenant -> Text, }
    session_candidates (subject_id) { subject_id -> Id, group_id -> Id, since -> Instant, tenant -> Text, }
    issue_candidates (subject_id) { subject_id -> Id, group_id -> Id, since -> Instant, tenant -> Text, }
    step_candidates (subject_id) { subject_id -> Id, group_id -> Id, since -> Instant, tenant -> Text, }
}

/// The facts of one kind: who and what it is, its history in the ledger, and what this kind alone has; and the same
/// with the exemptions that a decision goes by, and what is held of it.
macro_rules! facts {
    ($view:ident, $decided:ident { $($column:ident -> $type:ty,)+ }) => {
        facts! { @ $view { $($column -> $type,)+ } }
        facts! { @ $decided {
            $($column -> $type,)+
            exemption -> Nullable<Text>,
            exemption_until -> Nullable<Instant>,
            agent_exemption -> Nullable<Text>,
            agent_exemption_until -> Nullable<Instant>,
            tenant_exemption -> Nullable<Text>,
            tenant_exemption_until -> Nullable<Instant>,
            held -> Bool,
            held_agent_id -> Nullable<Id>,
            held_issue_id -> Nullable<Id>,
        } }
    };
    (@ $view:ident { $($column:ident -> $type:ty,)+ }) => {
        relations! {
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
                open_recovery_id -> Nullable<Key>,
                open_recovery_action -> Nullable<Text>,
                open_recovery_at -> Nullable<Instant>,
                observed_at -> Instant,
                $($column -> $type,)+
            }
        }
    };
}

facts! {
    issue_facts, issue_decided_facts {
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
    step_facts, step_decided_facts {
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

facts! {
    session_facts, session_decided_facts {
        identifier -> Nullable<Text>,
        declared_wait -> Nullable<Text>,
        stall_paused -> Bool,
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

// What a host has beside them, as far as sweep reads and writes it.
relations! {
    host_blocks (subject_id) {
        subject_id -> Id,
        tenant -> Text,
        identifier -> Nullable<Text>,
        title -> Text,
        agent_id -> Nullable<Id>,
        agent_name -> Nullable<Text>,
        since -> Instant,
        reason -> Text,
    }
    host_behavior (run_end_grace_seconds) {
        run_end_grace_seconds -> Double,
        resume_advice -> Text,
    }
    issues (id) {
        id -> Id,
        identifier -> Nullable<Text>,
        status -> Text,
        assignee_agent_id -> Nullable<Id>,
        unblock_action -> Nullable<Text>,
        updated_at -> Instant,
    }
    agents (id) {
        id -> Id,
        name -> Text,
    }
    plans (id) {
        id -> Id,
        tenant -> Text,
        title -> Text,
        status -> Text,
        updated_at -> Instant,
    }
    plan_steps (id) {
        id -> Id,
        status -> Text,
        updated_at -> Instant,
    }
    wakes (id) {
        id -> Key,
        agent_id -> Id,
        issue_id -> Nullable<Id>,
        plan_step_id -> Nullable<Id>,
        reason -> Text,
        payload -> Document,
        requested_by -> Text,
    }
    comments (id) {
        id -> Key,
        issue_id -> Id,
        author -> Text,
        body -> Text,
    }
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
    session_commands (id) {
        id -> Key,
        session_id -> Id,
        command -> Text,
        message -> Nullable<Text>,
        status -> Text,
        requested_by -> Text,
        created_at -> Instant,
        updated_at -> Instant,
    }
}

// What is read of all work together: its state, the wakes that nobody takes up, and what sweeps achieved.
relations! {
    step_work_state (subject_id) {
        subject_id -> Id,
        title -> Text,
        agent_name -> Nullable<Text>,
        state -> Nullable<Text>,
        detail -> Nullable<Text>,
        since -> Instant,
        plan_id -> Id,
    }
    agent_names (agent_id) {
        agent_id -> Id,
        agent_name -> Text,
    }
    escalated_issues (subject_id) {
        subject_id -> Id,
        tenant -> Text,
        identifier -> Nullable<Text>,
        title -> Text,
        agent_id -> Nullable<Id>,
        agent_name -> Nullable<Text>,
        reason -> Text,
        attempt -> Integer,
        since -> Instant,
        last_attempt_at -> Nullable<Instant>,
    }
    policy (orphan_grace_seconds) {
        orphan_grace_seconds -> Double,
        step_stalled_after_seconds -> Double,
        wake_stuck_after_seconds -> Double,
    }
    false_rescues (recovery_id) {
        recovery_id -> Key,
        continued_at -> Instant,
    }
    untaken_wakes (id) {
        id -> Id,
        kind -> Nullable<Text>,
        subject_id -> Nullable<Id>,
        tenant -> Text,
        identifier -> Nullable<Text>,
        title -> Nullable<Text>,
        agent_id -> Nullable<Id>,
        agent_name -> Nullable<Text>,
        agent_status -> Text,
        created_at -> Instant,
    }
    wake_pickups (wake_id) {
        wake_id -> Id,
        taken_at -> Instant,
    }
}

// What sweep itself remembers: its sweeps, what they did, what operators said, what failed, and what is to be sent.
relations! {
    recoveries (id) {
        id -> Key,
        sweep_id -> Key,
        kind -> Text,
        subject_id -> Id,
        action -> Text,
        reason -> Text,
        episode_began_at -> Instant,
        attempt -> Integer,
        wake_id -> Nullable<Key>,
        agent_id -> Nullable<Id>,
        tenant -> Nullable<Text>,
        requested_by -> Nullable<Text>,
        blocked_subject -> Bool,
        created_at -> Instant,
        settled_at -> Nullable<Instant>,
    }
    sweeps (id) {
        id -> Key,
        host -> Text,
        version -> Text,
        started_at -> Instant,
        finished_at -> Nullable<Instant>,
        ended -> Nullable<Text>,
        exit_code -> Nullable<Integer>,
        succeeded -> Bool,
        is_restricted -> Bool,
        partial -> Bool,
        shard -> Integer,
        shards -> Integer,
        policy -> Document,
        counts -> Document,
        oldest_left_at -> Nullable<Instant>,
        ledger_until -> Nullable<Instant>,
        ledger_counts -> Nullable<Document>,
        guard_decided_at -> Nullable<Instant>,
        guard_held -> Nullable<Document>,
    }
    notifications (id) {
        id -> Key,
        destination -> Text,
        event -> Text,
        kind -> Text,
        part -> Text,
        subject_id -> Nullable<Id>,
        sweep_id -> Key,
        details -> Document,
        created_at -> Instant,
        message_id -> Nullable<Key>,
        attempts -> Integer,
        due_at -> Instant,
        delivered_at -> Nullable<Instant>,
        dead_at -> Nullable<Instant>,
        last_error -> Nullable<Text>,
    }
    exemptions (kind, subject_id) {
        kind -> Text,
        subject_id -> Id,
        reason -> Text,
        until -> Nullable<Instant>,
        created_at -> Instant,
    }
    agent_exemptions (agent_id) {
        agent_id -> Id,
        reason -> Text,
        until -> Nullable<Instant>,
    }
    tenant_exemptions (tenant) {
        tenant -> Text,
        reason -> Text,
        until -> Nullable<Instant>,
        created_at -> Instant,
    }
    failures (kind, subject_id) {
        kind -> Text,
        subject_id -> Id,
        sweeps -> Integer,
        reason -> Text,
        last_at -> Instant,
        quarantined_at -> Nullable<Instant>,
    }
}

diesel::allow_tables_to_appear_in_same_query!(
    session_facts, session_subjects, session_candidates, issue_facts, issue_subjects, issue_candidates, step_facts,
    step_subjects, step_candidates, exemptions, agent_exemptions, tenant_exemptions, failures, recoveries,
);
