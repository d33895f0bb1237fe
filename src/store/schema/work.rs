//! What the status reads besides: the views that tell of all work and of what sweeps achieved.

diesel::table! {
    use diesel::sql_types::*;
    use crate::store::types::sql::*;
    step_work_state (subject_id) {
        subject_id -> Id,
        title -> Text,
        agent_name -> Nullable<Text>,
        state -> Text,
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
