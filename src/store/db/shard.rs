//! Sweeps of several machines that share the subjects of one database.

use crate::rules::Id;

/// One of several sweeps that share the subjects: by agent, so that each agent's wakes are counted by one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    pub index: u32,
    pub count: u32,
}

impl Shard {
    pub const COUNT_MAX: u32 = 256;
    pub const WHOLE: Shard = Shard { index: 0, count: 1 };

    /// Does this shard leave out any subject?
    pub fn is_part(&self) -> bool {
        1 < self.count
    }

    /// Are the subjects of this group its own? FNV-1a: the sweeps of one database may be of different versions, and
    /// must split it alike.
    pub fn has(&self, group: &Id) -> bool {
        let hash = group
            .0
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        // The low bits of FNV alone are poor.
        (hash ^ (hash >> 32)) % u64::from(self.count) == u64::from(self.index)
    }
}
