//! The files of the page: its style sheet, and an icon for each state.

use std::sync::LazyLock;

use axum::http::StatusCode;
use sha2::{Digest, Sha256};

use super::answer::{Caching, Document, hex};
use super::chart::Mark;

const STYLE: &str = include_str!("templates/style.css");

const STYLE_PATH: &str = "/style.css";

/// The address changes with the content, so that browsers may keep it.
pub fn style_address() -> &'static str {
    static ADDRESS: LazyLock<String> =
        LazyLock::new(|| format!("{STYLE_PATH}?{:.16}", hex(&Sha256::digest(STYLE.as_bytes()))));
    &ADDRESS
}

/// The file of this path, if it is one.
pub fn file(path: &str) -> Option<Document> {
    let file = |media_type, body: String, caching| {
        Some(Document { status: StatusCode::OK, media_type, body, caching, refreshes: false })
    };
    if path == STYLE_PATH {
        return file("text/css; charset=utf-8", STYLE.to_owned(), Caching::Forever);
    }
    let name = path.strip_prefix("/icons/")?.strip_suffix(".svg")?;
    let mark = Mark::ALL.iter().find(|mark| mark.name() == name)?;
    file("image/svg+xml", mark.icon(), Caching::Checked)
}
