//! The documents: who follows their examples from top to bottom sees what they show.

mod blocks;
mod fields;
mod follow;
mod mistakes;
mod native;
mod normal;

use std::path::PathBuf;

/// A page of the project.
pub struct Page {
    pub path: PathBuf,
    pub text: String,
}

impl Page {
    pub fn read(name: &str) -> Page {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        Page { path, text }
    }
}
