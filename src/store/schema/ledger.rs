//! What sweep itself remembers: its sweeps, what they did, what operators said, what failed, and what is to be sent.

diesel::table! {
    use diesel::sql_types::*;
    use crate::store::types::sql::*;
    recoveries (id) {
        id -> Id,
        sweep_id -> Id,
        kind -> Text,
        subject_id -> Id,
        action -> Text,
        reason -> Text,
        episode_began_at -> Instant,
        attempt -> Integer,
        wake_id -> Nullable<Id>,
        blocked_subject -> Bool,
        created_at -> Instant,
        settled_at -> Nullable<Instant>,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::store::types::sql::*;
    sweeps (id) {
        id -> Id,
        host -> Text,
        version -> Text,
        started_at -> Instant,
        finished_at -> Nullable<Instant>,
        ended -> Nullable<Text>,
        exit_code -> Nullable<Integer>,
        succeeded -> Bool,
        narrowed -> Bool,
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
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::store::types::sql::*;
    notifications (id) {
        id -> Id,
        destination -> Text,
        event -> Text,
        kind -> Text,
        part -> Text,
        subject_id -> Nullable<Id>,
        sweep_id -> Id,
        details -> Document,
        created_at -> Instant,
        message_id -> Nullable<Id>,
        attempts -> Integer,
        due_at -> Instant,
        delivered_at -> Nullable<Instant>,
        dead_at -> Nullable<Instant>,
        last_error -> Nullable<Text>,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::store::types::sql::*;
    exemptions (kind, subject_id) {
        kind -> Text,
        subject_id -> Id,
        reason -> Text,
        until -> Nullable<Instant>,
        created_at -> Instant,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::store::types::sql::*;
    failures (kind, subject_id) {
        kind -> Text,
        subject_id -> Id,
        sweeps -> Integer,
        reason -> Text,
        last_at -> Instant,
        quarantined_at -> Nullable<Instant>,
    }
}
