//! The page, as HTTP and HTML: `make test-page` looks at it with a real browser.

mod access;
mod answers;
mod contents;
mod crowds;
mod hostile_rows;
mod lists;
mod plans;
mod several_databases;
