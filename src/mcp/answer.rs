//! Answers stay small: an agent pays for each word that it reads.
//!
//! A list is given page by page; what has no pages is cut until it is small enough, and says beside each list how many
//! there are.

use serde_json::{Value, json};

use crate::text::cut;

/// Bytes of an answer as JSON.
pub const BYTES_MAX: usize = 25_000;

/// Rows of a page, unless another number is asked for.
pub const ROWS: usize = 20;

/// Bytes of the rows of a page: what stands around them is small.
const PAGE_BYTES_MAX: usize = BYTES_MAX - 5_000;

/// Characters of a text in an answer that would be too long otherwise.
const TEXT_MAX: usize = 200;

/// The rows of one answer.
pub struct RowPage {
    pub rows: Vec<Value>,
    /// Where the next page begins: behind the row of this place. None: there is none.
    pub next: Option<String>,
}

impl RowPage {
    /// Takes the first of these rows that fit, each with its place; at least one, if there is one.
    pub fn fill(rows: impl IntoIterator<Item = (String, Value)>, limit: usize) -> RowPage {
        let (mut page, mut bytes, mut last) = (RowPage { rows: Vec::new(), next: None }, 0, None);
        for (place, row) in rows {
            bytes += row.to_string().len() + 1;
            if limit <= page.rows.len() || PAGE_BYTES_MAX < bytes && !page.rows.is_empty() {
                page.next = last;
                return page;
            }
            page.rows.push(row);
            last = Some(place);
        }
        page
    }
}

/// Which rows of a list stay when it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    First,
    Last,
}

/// The document with each of these lists, named by JSON pointers, of at most so many rows.
pub fn with_rows(mut document: Value, lists: &[(&str, Keep)], rows: usize) -> Value {
    for (list, keep) in lists {
        let Some(list) = document.pointer_mut(list).and_then(Value::as_array_mut) else { continue };
        match keep {
            Keep::First => list.truncate(rows),
            Keep::Last => drop(list.drain(..list.len().saturating_sub(rows))),
        }
    }
    document
}

/// The document with items that name no commands: those are a person's, and many of them no tool does.
pub fn without_commands(mut document: Value, lists: &[&str]) -> Value {
    for list in lists {
        for item in document.pointer_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            item.get_mut("commands").into_iter().for_each(|commands| *commands = json!([]));
        }
    }
    document
}

/// The document, small enough: if it is not, its texts are cut, and then its lists.
pub fn small(document: Value, lists: &[(&str, Keep)]) -> Value {
    let is_small = |document: &Value| document.to_string().len() <= BYTES_MAX;
    if is_small(&document) {
        return document;
    }
    let mut document = with_short_texts("", document);
    let longest = |document: &Value| {
        let lengths = lists.iter().filter_map(|(list, _)| document.pointer(list)?.as_array().map(Vec::len));
        lengths.max().unwrap_or_default()
    };
    while !is_small(&document) && 1 < longest(&document) {
        let rows = longest(&document) / 2;
        document = with_rows(document, lists, rows);
    }
    document
}

/// A name and an address are of use only if they are whole.
fn with_short_texts(name: &str, document: Value) -> Value {
    let is_whole = matches!(name, "id" | "url" | "next_page") || name.ends_with("_id");
    match document {
        Value::String(text) if !is_whole => Value::String(cut(&text, TEXT_MAX)),
        Value::Array(values) => values.into_iter().map(|value| with_short_texts(name, value)).collect(),
        Value::Object(fields) => {
            let short = fields.into_iter().map(|(name, value)| {
                let value = with_short_texts(&name, value);
                (name, value)
            });
            Value::Object(short.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => document,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{BYTES_MAX, Keep, RowPage, small};

    fn page(number: usize, text: &str, limit: usize) -> (usize, Option<String>) {
        let page = RowPage::fill(rows(number, text), limit);
        (page.rows.len(), page.next)
    }

    fn rows(number: usize, text: &str) -> Vec<(String, Value)> {
        (0..number).map(|n| (n.to_string(), json!({ "id": n.to_string(), "title": text }))).collect()
    }

    #[test]
    fn a_page_ends_at_its_limit_or_when_it_is_full_and_says_where_it_goes_on() {
        assert_eq!(page(3, "a", 20), (3, None));
        assert_eq!(page(20, "a", 20), (20, None));
        assert_eq!(page(21, "a", 20), (20, Some("19".to_owned())));
        let (fitting, next) = page(100, &"é".repeat(500), 100);
        assert!((10..20).contains(&fitting) && next == Some((fitting - 1).to_string()), "{fitting}");
        assert_eq!(page(2, &"é".repeat(20_000), 100), (1, Some("0".to_owned())), "one is always there");
        assert_eq!(page(0, "", 20), (0, None));
    }

    #[test]
    fn what_is_too_long_is_cut_first_in_its_texts_and_then_in_its_lists() {
        let lists = [("/oldest", Keep::First), ("/latest", Keep::Last)];
        let list = |number, text: &str| rows(number, text).into_iter().map(|(_, row)| row).collect::<Vec<_>>();
        let document = |number, text: &str| json!({ "oldest": list(number, text), "latest": list(number, text) });
        assert_eq!(small(document(9, "a"), &lists), document(9, "a"), "what is small enough is left alone");
        let cut = small(document(20, &"é".repeat(900)), &lists);
        assert_eq!(cut["oldest"].as_array().expect("a list").len(), 20);
        assert!(cut.to_string().len() < BYTES_MAX);
        let cut = small(document(300, &"é".repeat(900)), &lists);
        assert!(cut.to_string().len() <= BYTES_MAX);
        assert_eq!((&cut["oldest"][0]["id"], &cut["latest"][0]["id"]), (&json!("0"), &json!("282")));
    }
}
