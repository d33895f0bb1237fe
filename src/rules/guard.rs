//! The guard against acting at scale on a false picture: when half the world looks stranded, it is the look that is wrong.

/// It stops a sweep at a kind of which more than `share` and more than `min` of the subjects in progress look stranded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guard {
    /// From 0 to 1.
    pub share: f64,
    pub min: u32,
}

impl Default for Guard {
    fn default() -> Self {
        Guard { share: 0.5, min: 20 }
    }
}

impl Guard {
    /// The most that may look stranded.
    pub fn stranded_max(&self, in_progress: u64) -> u64 {
        ((self.share * in_progress as f64).floor() as u64).max(self.min.into())
    }

    pub fn stops(&self, stranded: u64, in_progress: u64) -> bool {
        self.stranded_max(in_progress) < stranded
    }
}
