//! Why a document of JSON or TOML cannot be read, in words for people: the field, what stands there, what was expected.
//! What serde says of it names the types of this program.

use serde_json::error::Category;

/// What is wrong with a document of JSON.
pub fn json(error: &serde_json::Error) -> String {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let words = error.to_string();
    match error.classify() {
        Category::Eof | Category::Io => "it ends too early".to_owned(),
        Category::Syntax => format!("line {}: expected JSON", error.line()),
        Category::Data if error.line() == 0 => field(&words).unwrap_or(words),
        Category::Data => {
            let words = words.strip_suffix(&place).unwrap_or(&words);
            format!("line {}: {}", error.line(), field(words).as_deref().unwrap_or(words))
        }
    }
}

/// What is wrong with a document of TOML.
pub fn toml(error: &toml::de::Error, text: &str) -> String {
    let words = error.message().replace('\n', " ");
    // What is missing stands nowhere: its place is the whole.
    let start = error.span().map(|span| span.start).filter(|start| 0 < *start || !words.starts_with("missing"));
    let before = start.and_then(|start| text.get(..start));
    let Some(number) = before.map(|before| before.matches('\n').count()) else {
        return field(&words).unwrap_or(words);
    };
    let line = text.lines().nth(number).unwrap_or_default().trim();
    format!(
        "line {}: {line}: {}",
        number + 1,
        field(&words).as_deref().unwrap_or("expected TOML, such as name = \"x\"")
    )
}

/// What is wrong with a field, from the words of serde. None: they are about no field, or about one of which a type of
/// this program says what is wrong.
fn field(words: &str) -> Option<String> {
    let (what, rest) = words.split_once(['`', ':']).unwrap_or((words, ""));
    let (found, wanted) = rest.split_once(", expected ").unwrap_or((rest, ""));
    let (found, wanted) = (bare(found), expected(wanted));
    match what.trim() {
        "missing field" => Some(format!("{found} is missing")),
        "duplicate field" => Some(format!("{found} stands there twice")),
        "unknown field" => Some(format!("{found} is not known, expected {wanted}")),
        "unknown variant" => Some(format!("“{found}” is not known, expected {wanted}")),
        "invalid type" | "invalid value" | "invalid length" => Some(format!("{}: expected {wanted}", value(&found))),
        _ if words.contains('`') => None,
        _ => Some(words.to_owned()),
    }
}

fn bare(text: &str) -> String {
    text.trim().replace('`', "")
}

/// The value that serde found.
fn value(found: &str) -> String {
    match found.split_once(' ') {
        Some(("string", text)) => format!("“{}”", text.trim_matches('"')),
        Some(("integer" | "boolean", text)) => text.to_owned(),
        Some(("floating", text)) => text.trim_start_matches("point ").to_owned(),
        _ => match found {
            "map" => "an object".to_owned(),
            "sequence" => "a list".to_owned(),
            "unit value" => "null".to_owned(),
            other => other.to_owned(),
        },
    }
}

/// What serde expected instead.
fn expected(wanted: &str) -> String {
    match wanted {
        "a string" | "a borrowed string" => "a text".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "f64" => "a number".to_owned(),
        "a sequence" => "a list".to_owned(),
        whole if ["u8", "u16", "u32", "u64", "i32", "i64", "usize"].contains(&whole) => "a whole number".to_owned(),
        fields if fields.starts_with("struct ") || fields == "a map" => "an object".to_owned(),
        names => bare(names),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde::Deserialize;

    use super::*;

    #[expect(dead_code, reason = "it is read, and nobody looks at it")]
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Document {
        count: u64,
        name: String,
        kind: Option<crate::rules::Kind>,
        #[serde(default)]
        share: f64,
        #[serde(default)]
        rows: Vec<Document>,
    }

    #[rstest]
    #[case::of_another_type(r#"{"count": "five"}"#, "line 1: “five”: expected a whole number")]
    #[case::a_negative_number(r#"{"count": -1}"#, "line 1: -1: expected a whole number")]
    #[case::a_number(r#"{"count": 1, "name": 5}"#, "line 1: 5: expected a text")]
    #[case::null("{\"count\": 1,\n\"name\": null}", "line 2: null: expected a text")]
    #[case::a_list(r#"{"share": []}"#, "line 1: a list: expected a number")]
    #[case::no_list(r#"{"rows": {}}"#, "line 1: an object: expected a list")]
    #[case::no_object("5", "line 1: 5: expected an object")]
    #[case::missing(r#"{"count": 1}"#, "line 1: name is missing")]
    #[case::twice(r#"{"count": 1, "count": 2}"#, "line 1: count stands there twice")]
    #[case::unknown(r#"{"colour": 1}"#, "line 1: colour is not known, expected one of count, name, kind, share, rows")]
    #[case::of_few(r#"{"kind": "task"}"#, "line 1: “task” is not known, expected one of session, issue, step")]
    #[case::cut_short(r#"{"count": 1"#, "it ends too early")]
    #[case::nothing("", "it ends too early")]
    #[case::no_json("count = 1", "line 1: expected JSON")]
    #[case::more_than_one(r#"{"count": 1, "name": ""}{}"#, "line 1: expected JSON")]
    fn what_is_wrong_with_json_is_said_in_our_words(#[case] text: &str, #[case] said: &str) {
        assert_eq!(json(&serde_json::from_str::<Document>(text).expect_err(text)), said);
    }

    #[rstest]
    #[case::of_another_type("name = 'x'\ncount = 'five'", "line 2: count = 'five': “five”: expected a whole number")]
    #[case::missing("count = 1", "name is missing")]
    #[case::no_toml("name 'x'", "line 1: name 'x': expected TOML, such as name = \"x\"")]
    #[case::twice("count = 1\ncount = 2", "line 2: count = 2: duplicate key")]
    fn what_is_wrong_with_toml_is_said_with_its_line(#[case] text: &str, #[case] said: &str) {
        assert_eq!(toml(&toml::from_str::<Document>(text).expect_err(text), text), said);
    }
}
