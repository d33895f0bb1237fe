//! How the subjects are split: every one is of exactly one shard, and the shards are of a size.

use proptest::prelude::*;
use sweep::rules::Id;
use sweep::store::work::candidates::Shard;

/// Is a subject of this group the shard's?
pub fn is_in(shard: Shard, group: &str) -> bool {
    shard.has(&Id(group.to_owned()))
}

fn shares(groups: &[String], count: u32) -> Vec<usize> {
    let share = |index| groups.iter().filter(|group| is_in(Shard { index, count }, group)).count();
    (0..count).map(share).collect()
}

/// A random uuid of version 4, from a generator that every run begins anew.
fn random(n: u64) -> String {
    let mix = |n: u64| {
        let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        n ^ (n >> 31)
    };
    let (high, low) = (mix(2 * n + 1), mix(2 * n + 2));
    uuid::Builder::from_random_bytes(((u128::from(high) << 64) | u128::from(low)).to_be_bytes()).into_uuid().to_string()
}

fn assert_balanced(groups: &[String]) {
    for count in 2..=16 {
        let shares = shares(groups, count);
        assert_eq!(shares.iter().sum::<usize>(), groups.len());
        let half = groups.len() / count as usize / 2;
        assert!(shares.iter().all(|share| half <= *share), "{count}: {shares:?}");
    }
}

#[test]
fn agents_with_random_ids_are_split_evenly() {
    assert_balanced(&(0..10_000).map(random).collect::<Vec<_>>());
}

#[test]
fn agents_that_were_made_one_after_the_other_are_split_evenly() {
    assert_balanced(&(0..10_000).map(|_| Id::generate().0).collect::<Vec<_>>());
    assert_balanced(&(0..10_000).map(|n| format!("00000000-0000-4000-8000-{n:012}")).collect::<Vec<_>>());
}

/// Sweeps of different versions share one database: this may never change.
#[test]
fn who_has_what_is_fixed() {
    let index = |group: &str| (0..16).find(|&index| is_in(Shard { index, count: 16 }, group));
    let known = ["0198c2a4-5b1e-7cc3-9d0a-3f2b8e6a7d10", "00000000-0000-4000-8000-000000000001"].map(index);
    assert_eq!(known, [Some(7), Some(14)]);
}

proptest! {
    #[test]
    fn every_subject_is_of_exactly_one_shard(group in "[0-9a-f-]{0,40}|.{0,20}") {
        for count in 1..=16 {
            let of = (0..count).filter(|&index| is_in(Shard { index, count }, &group)).count();
            prop_assert_eq!(of, 1, "of {} shards", count);
        }
    }
}
