//! How many connections a sweep works with, where each may lock hundreds of partitions: never so many that the server's
//! table of locks, which the host's own statements share, runs out in the middle.

use anyhow::Result;
use tracing::warn;

use super::Options;
use crate::conclusion::config;
use crate::rules::Kind;
use crate::store::Access;
use crate::store::connect::open::Store;
use crate::store::work::locks::{self, LockTable};

/// The connections for the workers: as many as were asked for, or as many as leave the host half of the locks that are
/// free. Of several shards each takes its part.
///
/// # Errors
/// One worker, beside the scan, would take too many; or the database's.
pub fn connections(options: &Options, store: &mut Store) -> Result<u32> {
    let kinds: Vec<Kind> = options.selection.kinds().into_iter().filter(|kind| store.kinds.contains(kind)).collect();
    let counted = |db: &mut _| locks::count(db, &kinds);
    let Some(table) = store.db.in_transaction(Access::ReadOnly, &options.timeouts, counted)? else {
        return Ok(options.connections);
    };
    let shards = options.shard.map_or(1, |shard| shard.count);
    let LockTable { per_subject, size, in_use } = table;
    let possible = possible(table, shards);
    if possible == 0 {
        let needed = 2 * (2 * per_subject * i64::from(shards) + in_use);
        return Err(config(format!(
            "this host needs {per_subject} locks for a subject, since its tables have partitions, and the server has \
             {size}, of which {in_use} are in use: sweep takes half of what is free at most, for two connections. Set \
             max_locks_per_transaction so that there are {needed}, or use fewer partitions"
        ))
        .into());
    }
    if possible < options.connections {
        let wanted = options.connections;
        warn!(
            "this host needs {per_subject} locks for a subject, and the server has {size}: sweeping with {possible} \
             connections in place of {wanted}"
        );
    }
    Ok(options.connections.min(possible))
}

/// How many workers there may be, beside the scan.
fn possible(LockTable { per_subject, size, in_use }: LockTable, shards: u32) -> u32 {
    let ours = (size - in_use).max(0) / 2 / i64::from(shards);
    u32::try_from(ours / per_subject.max(1)).unwrap_or(u32::MAX).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{LockTable, possible};

    #[rstest]
    #[case::a_host_without_many_partitions(52, 6400, 0, 1, 60)]
    #[case::two_hundred_partitions(1646, 6400, 0, 1, 0)]
    #[case::a_larger_table(1646, 64_000, 0, 1, 18)]
    #[case::four_shards(1646, 64_000, 0, 4, 3)]
    #[case::others_hold_the_most(1646, 64_000, 60_000, 1, 0)]
    #[case::more_in_use_than_there_should_be(1646, 6400, 7000, 1, 0)]
    fn half_of_what_is_free_is_shared_by_the_connections(
        #[case] per_subject: i64,
        #[case] size: i64,
        #[case] in_use: i64,
        #[case] shards: u32,
        #[case] workers: u32,
    ) {
        assert_eq!(possible(LockTable { per_subject, size, in_use }, shards), workers);
    }
}
