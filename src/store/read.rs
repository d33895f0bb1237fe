//! What is shown and measured: overviews, counts and metrics, each read in one snapshot.

pub mod attention;
pub(super) mod board_rows;
pub mod latest;
pub mod metrics;
pub mod status;
