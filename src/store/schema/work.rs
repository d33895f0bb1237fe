//! What is read of all work together: its state, the wakes that nobody takes up, and what sweeps achieved.

diesel::table! {
    use diesel::sql_types::*;
    use crate::store::types::sql::*;
    step_work_state (subject_id) {
        subject_id -> Id,
        title -> Text,
        agent_name -> Nullable<Text>,
        state -> Nullable<Text>,
        detail -> Nullable<Text>,
        since -> Instant,
        plan_id -> Id,
    }
}

diesel::table! {
    policy (orphan_grace_seconds) {
        orphan_grace_seconds -> Double,
        step_stalled_after_seconds -> Double,
        wake_stuck_after_seconds -> Double,
    }
}

diesel::table! {
    use crate::store::types::sql::*;
    false_rescues (recovery_id) {
        recovery_id -> Id,
        continued_at -> Instant,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::store::types::sql::*;
    untaken_wakes (id) {
        id -> Id,
        kind -> Nullable<Text>,
        subject_id -> Nullable<Id>,
        tenant -> Text,
        identifier -> Nullable<Text>,
        title -> Nullable<Text>,
        agent_name -> Nullable<Text>,
        agent_status -> Text,
        created_at -> Instant,
    }
}

diesel::table! {
    use crate::store::types::sql::*;
    wake_pickups (wake_id) {
        wake_id -> Id,
        taken_at -> Instant,
    }
}
