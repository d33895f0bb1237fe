//! Values that a host's row may hold, and that mean nothing.

/// Times that PostgreSQL stores, and at which nothing can have happened.
pub const ABSURD_TIMES: [&str; 6] =
    ["-infinity", "infinity", "0001-01-01", "4000-01-01 BC", "294276-12-31", "294276-12-31 23:59:59.999999"];

/// JSON that is well-formed and does not name an issue.
pub const NAMELESS_JSON: [&str; 7] =
    ["null", "3", "\"text\"", "[]", "[{\"issueId\": 1}]", "{\"issueId\": null}", "{\"issueId\": {\"a\": 1}}"];

/// Words of libraries about a value that they cannot read, which people must never see.
pub const WORDS_OF_LIBRARIES: [&str; 8] = [
    "premature end", "input contains", "input is out of range", "trailing input", "too large for", "invalid type",
    "missing field", "unexpected null",
];
