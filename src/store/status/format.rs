//! The form of the JSON.

/// The version of the JSON.
pub const SCHEMA: u32 = 1;

/// Rows kept of each list, the oldest; beside it stands how many there are.
pub const ROWS_MAX: i64 = 50;
