//! Databases that cannot be swept, or not wholly: one line that says which, why and what to do, and nothing half done.

mod postgres;
mod sqlite;

const USAGE: i32 = 64;
const UNAVAILABLE: i32 = 69;
const BUSY: i32 = 75;
const CONFIG: i32 = 78;
