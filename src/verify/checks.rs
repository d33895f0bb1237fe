//! The promises, one by one.

pub mod candidates;
pub mod cost;
pub mod coverage;
pub mod footprint;
pub mod life;
pub mod patience;
pub mod rivals;
pub mod story;
