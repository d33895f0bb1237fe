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
    session_subjects (subject_id) { subject_id -> HostId, group_id -> HostId, tenant -> Text, }
    issue_subjects (subject_id) { subject_id -> HostId, group_id -> HostId, tenant -> Text, }
    step_subjects (subject_id) { subject_id -> HostId, group_id -> HostId, tenant -> Text, }
    session_candidates (subject_id) { subject_id -> HostId, group_id -> HostId, since -> Moment, tenant -> Text, }
    issue_candidates (subject_id) { subject_id -> HostId, group_id -> HostId, since -> Moment, tenant -> Text, }
    step_candidates (subject_id) { subject_id -> HostId, group_id -> HostId, since -> Moment, tenant -> Text, }
}

// What subjects are called. Their whole facts are rows of issues.rs, steps.rs and sessions.rs.
relations! {
    issue_facts (subject_id) { subject_id -> HostId, tenant -> Text, identifier -> Nullable<Text>, }
    session_facts (subject_id) { subject_id -> HostId, tenant -> Text, identifier -> Nullable<Text>, }
    step_facts (subject_id) {
        subject_id -> HostId,
        tenant -> Text,
        identifier -> Text,
        title -> Text,
        status -> Text,
        idle_since -> Moment,
        plan_id -> HostId,
        position -> Integer,
        stalled_after_seconds -> Nullable<Integer>,
        agent_id -> Nullable<HostId>,
        agent_name -> Nullable<Text>,
    }
}

// What a host has beside them, as far as sweep reads and writes it.
relations! {
    left_issues (subject_id) {
        subject_id -> HostId,
        tenant -> Text,
        identifier -> Nullable<Text>,
        title -> Text,
        agent_id -> Nullable<HostId>,
        agent_name -> Nullable<Text>,
        status -> Text,
        since -> Moment,
        reason -> Text,
    }
    host_behavior (run_end_grace_seconds) {
        run_end_grace_seconds -> Double,
        resume_advice -> Text,
    }
    run_ends (id) {
        id -> BigInt,
        subject_id -> HostId,
    }
    host_clock (behind_seconds) {
        behind_seconds -> Double,
    }
    issues (id) {
        id -> HostId,
        identifier -> Nullable<Text>,
        status -> Text,
        assignee_agent_id -> Nullable<HostId>,
        unblock_action -> Nullable<Text>,
        updated_at -> Moment,
    }
    agents (id) {
        id -> HostId,
        name -> Text,
    }
    plans (id) {
        id -> HostId,
        tenant -> Text,
        title -> Text,
        status -> Text,
        updated_at -> Moment,
    }
    plan_steps (id) {
        id -> HostId,
        status -> Text,
        updated_at -> Moment,
    }
    wakes (id) {
        id -> OwnKey,
        agent_id -> HostId,
        issue_id -> Nullable<HostId>,
        plan_step_id -> Nullable<HostId>,
        reason -> Text,
        payload -> JsonDocument,
        requested_by -> Text,
    }
    comments (id) {
        id -> OwnKey,
        issue_id -> HostId,
        author -> Text,
        body -> Text,
    }
    sessions (id) {
        id -> HostId,
        tenant -> Text,
        identifier -> Nullable<Text>,
        title -> Text,
        directory -> Nullable<Text>,
        agent_id -> Nullable<HostId>,
        issue_id -> Nullable<HostId>,
        status -> Text,
        stall_paused -> Bool,
        started_at -> Nullable<Moment>,
        last_activity_at -> Nullable<Moment>,
        last_progress_at -> Nullable<Moment>,
        last_tool -> Nullable<Text>,
        recent_output -> Text,
        exit_code -> Nullable<Integer>,
        ended_at -> Nullable<Moment>,
        silent_after_seconds -> Nullable<Integer>,
        takes_nudges -> Bool,
        agent_state -> Nullable<Text>,
        agent_state_kind -> Nullable<Text>,
        agent_state_since -> Nullable<Moment>,
        agent_question -> Nullable<Text>,
        agent_state_evidence -> Nullable<Text>,
        resumes_at -> Nullable<Moment>,
        watcher -> Nullable<Text>,
        updated_at -> Moment,
    }
    session_watchers (subject_id) { subject_id -> HostId, watcher -> Text, heard_of_at -> Moment, }
    session_commands (id) {
        id -> OwnKey,
        session_id -> HostId,
        command -> Text,
        message -> Nullable<Text>,
        status -> Text,
        requested_by -> Text,
        created_at -> Moment,
        updated_at -> Moment,
    }
}

// What is read of all work together: its state, the wakes that nobody takes up, and what sweeps achieved.
relations! {
    step_work_state (subject_id) {
        subject_id -> HostId,
        state -> Nullable<Text>,
        detail -> Nullable<Text>,
    }
    policy (orphan_grace_seconds) {
        orphan_grace_seconds -> Double,
        step_stalled_after_seconds -> Double,
        wake_stuck_after_seconds -> Double,
        run_silent_after_seconds -> Double,
    }
    false_rescues (recovery_id) {
        recovery_id -> OwnKey,
        continued_at -> Moment,
    }
    untaken_wakes (id) {
        id -> HostId,
        kind -> Nullable<Text>,
        subject_id -> Nullable<HostId>,
        tenant -> Text,
        identifier -> Nullable<Text>,
        title -> Nullable<Text>,
        agent_id -> Nullable<HostId>,
        agent_name -> Nullable<Text>,
        agent_status -> Text,
        created_at -> Moment,
    }
    unheard_runs (id) {
        id -> HostId,
        kind -> Text,
        subject_id -> HostId,
        tenant -> Text,
        identifier -> Nullable<Text>,
        title -> Text,
        agent_id -> Nullable<HostId>,
        agent_name -> Nullable<Text>,
        created_at -> Moment,
        since -> Moment,
    }
    wake_pickups (wake_id) {
        wake_id -> HostId,
        taken_at -> Moment,
    }
}

// What sweep itself remembers: its sweeps, what they did, what operators said, what failed, and what is to be sent.
relations! {
    recoveries (id) {
        id -> OwnKey,
        sweep_id -> OwnKey,
        kind -> Text,
        subject_id -> HostId,
        action -> Text,
        reason -> Text,
        episode_began_at -> Moment,
        attempt -> Integer,
        wake_id -> Nullable<OwnKey>,
        agent_id -> Nullable<HostId>,
        tenant -> Nullable<Text>,
        requested_by -> Nullable<Text>,
        blocked_subject -> Bool,
        lost_agent -> Bool,
        created_at -> Moment,
        settled_at -> Nullable<Moment>,
    }
    sweeps (id) {
        id -> OwnKey,
        host -> Text,
        version -> Text,
        started_at -> Moment,
        finished_at -> Nullable<Moment>,
        ended -> Nullable<Text>,
        exit_code -> Nullable<Integer>,
        succeeded -> Bool,
        is_restricted -> Bool,
        partial -> Bool,
        shard -> Integer,
        shards -> Integer,
        idle -> Bool,
        policy -> JsonDocument,
        counts -> JsonDocument,
        oldest_left_at -> Nullable<Moment>,
    }
    ledger_days (day, kind, action) {
        day -> Text,
        kind -> Text,
        action -> Text,
        recorded -> BigInt,
        requested -> BigInt,
        in_vain -> BigInt,
    }
    upkeep (task) {
        task -> Text,
        until -> Moment,
        began_at -> Moment,
        due_at -> Moment,
    }
    notifications (id) {
        id -> OwnKey,
        destination -> Text,
        event -> Text,
        kind -> Text,
        part -> Text,
        subject_id -> Nullable<HostId>,
        sweep_id -> OwnKey,
        details -> JsonDocument,
        created_at -> Moment,
        message_id -> Nullable<OwnKey>,
        attempts -> Integer,
        due_at -> Moment,
        delivered_at -> Nullable<Moment>,
        dead_at -> Nullable<Moment>,
        last_error -> Nullable<Text>,
    }
    exemptions (kind, subject_id) {
        kind -> Text,
        subject_id -> HostId,
        reason -> Text,
        until -> Nullable<Moment>,
        created_at -> Moment,
    }
    agent_exemptions (agent_id) {
        agent_id -> HostId,
        until -> Nullable<Moment>,
    }
    tenant_exemptions (tenant) {
        tenant -> Text,
        reason -> Text,
        until -> Nullable<Moment>,
        created_at -> Moment,
    }
    failures (kind, subject_id) {
        kind -> Text,
        subject_id -> HostId,
        sweeps -> Integer,
        reason -> Text,
        last_at -> Moment,
        quarantined_at -> Nullable<Moment>,
    }
}

diesel::allow_tables_to_appear_in_same_query!(
    session_facts, session_subjects, session_candidates, issue_facts, issue_subjects, issue_candidates, step_facts,
    step_subjects, step_candidates, exemptions, agent_exemptions, tenant_exemptions, failures, recoveries,
);
