//! The relations that the sweep reads and writes; docs/host-reference.md is their contract.

macro_rules! relations {
    ($($name:ident ($($key:ident),+) { $($columns:tt)* })+) => {
        $(diesel::table! {
            use diesel::sql_types::*;
            use crate::store::db::types::sql::*;
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

// What subjects are called. Their whole facts are rows of issues.rs, steps.rs and sessions.rs.
relations! {
    issue_facts (subject_id) { subject_id -> Id, tenant -> Text, identifier -> Nullable<Text>, }
    session_facts (subject_id) { subject_id -> Id, tenant -> Text, identifier -> Nullable<Text>, }
    step_facts (subject_id) {
        subject_id -> Id,
        tenant -> Text,
        identifier -> Text,
        title -> Text,
        status -> Text,
        idle_since -> Instant,
        plan_id -> Id,
        position -> Integer,
        stalled_after_seconds -> Nullable<Integer>,
    }
}

// What a host has beside them, as far as sweep reads and writes it.
relations! {
    left_issues (subject_id) {
        subject_id -> Id,
        tenant -> Text,
        identifier -> Nullable<Text>,
        title -> Text,
        agent_id -> Nullable<Id>,
        agent_name -> Nullable<Text>,
        status -> Text,
        since -> Instant,
        reason -> Text,
    }
    host_behavior (run_end_grace_seconds) {
        run_end_grace_seconds -> Double,
        resume_advice -> Text,
    }
    host_clock (behind_seconds) {
        behind_seconds -> Double,
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
        watcher -> Nullable<Text>,
        updated_at -> Instant,
    }
    session_watchers (subject_id) { subject_id -> Id, watcher -> Text, heard_of_at -> Instant, }
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
        state -> Nullable<Text>,
        detail -> Nullable<Text>,
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
