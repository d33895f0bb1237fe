//! The guard against acting at scale on a false picture: when half the world looks stranded, it is the look that is
//! wrong.

use serde::Serialize;

/// It stops a sweep at a kind of which more than `share` and more than `min` of the subjects in progress look stranded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
        self.share_of(in_progress).max(self.min.into())
    }

    /// Is the share too large, however few they are?
    pub fn exceeds_share(&self, stranded: u64, in_progress: u64) -> bool {
        self.share_of(in_progress) < stranded
    }

    fn share_of(&self, in_progress: u64) -> u64 {
        // A little more, since 0.29 of 100 would come out below 29.
        (self.share * in_progress as f64 + 1e-6).floor() as u64
    }

    pub fn stops(&self, stranded: u64, in_progress: u64) -> bool {
        self.stranded_max(in_progress) < stranded
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::Guard;

    #[rstest]
    #[case::nothing_is_in_progress(0.5, 20, 0, 0, false)]
    #[case::all_of_a_few(0.5, 20, 20, 20, false)]
    #[case::one_more_than_a_few(0.5, 20, 21, 21, true)]
    #[case::many_but_not_half(0.5, 20, 49, 100, false)]
    #[case::exactly_half(0.5, 20, 50, 100, false)]
    #[case::one_more_than_half(0.5, 20, 51, 100, true)]
    #[case::half_of_an_odd_number_is_rounded_down(0.5, 20, 51, 101, true)]
    #[case::exactly_a_share_that_no_float_is(0.29, 20, 29, 100, false)]
    #[case::one_more_than_a_share_that_no_float_is(0.29, 20, 30, 100, true)]
    #[case::exactly_a_third_of_very_many(0.333, 20, 3_330_000, 10_000_000, false)]
    #[case::one_more_than_a_third_of_very_many(0.333, 20, 3_330_001, 10_000_000, true)]
    #[case::a_share_of_zero_leaves_the_minimum(0.0, 5, 5, 1000, false)]
    #[case::a_share_of_zero_and_one_more(0.0, 5, 6, 1000, true)]
    #[case::zero_and_zero_stop_at_the_first(0.0, 0, 1, 1000, true)]
    #[case::zero_and_zero_have_nothing_to_stop(0.0, 0, 0, 1000, false)]
    #[case::a_share_of_one_never_stops(1.0, 0, 1000, 1000, false)]
    fn it_stops_when_more_than_the_share_and_more_than_the_minimum_look_stranded(
        #[case] share: f64,
        #[case] min: u32,
        #[case] stranded: u64,
        #[case] in_progress: u64,
        #[case] stops: bool,
    ) {
        assert_eq!(Guard { share, min }.stops(stranded, in_progress), stops);
    }
}
