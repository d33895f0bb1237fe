//! Text that others wrote, as it may be shown: rows, a driver's messages, an operator's arguments.
//!
//! All of it goes through `redact`: on one line, without invisible characters, without what looks like a credential. A
//! secret that looks like nothing, a word among others, is not known as one.
//!
//! Invisible characters are removed and not escaped, everywhere, in JSON as well: escapes would make names in Persian
//! and many emoji illegible, and a credential that such a character splits in two is known as one again.

pub mod misread;

use std::borrow::Cow;
use std::sync::LazyLock;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};
use regex::{Regex, RegexSet};
use serde_json::Value;

use crate::rules::Id;
use crate::rules::display::one_line;

/// What is percent-encoded in a part of a URL: everything but what RFC 3986 calls unreserved.
pub const NOT_UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A name that promises a secret. Tokens are also counted (`max_tokens: 4096`) and made (`tokenizer: fast`).
const NAME: &str = r#"(?i-u:(?:passw(?:or)?d|pwd|passphrase|secret|credential|authorization|api[_-]?key|private[_-]?key)[\w.-]*|token(?:[_.-][\w.-]*)?)\\?["']? ?"#;

/// A value: quoted, quoted inside a quoted text, or up to the next space.
const VALUE: &str =
    r#"(?:(?i-u:bearer|basic|digest|token) )?(?:\\".*?\\"|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|["'].*|[^ :][^ ]*)"#;

/// The shapes of credentials that services make.
const SHAPES: &str = r"(?x-u)\b(?:
    sk-(?:[\w-]*\d[\w-]{5,}|[\w-]{32,}) | [rs]k_(?:live|test)_\w{8,} | gh[pousr]_\w{16,} | github_pat_\w{16,} |
    glpat-[\w-]{12,} | xox[a-z]-[\w-]{8,} | A[KS]IA[A-Z0-9]{12,} | AIza[\w-]{20,} | npm_\w{20,} | hf_\w{20,} |
    eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)? | 
    (?<host>https://hooks\.slack\.com/\w+/|https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/\d+/|[?&]sig=)[!-~]+
)";

/// Finds credentials in one line, each pattern with what stays of its finding; a later one may find what an earlier one
/// left. Words are of ASCII, since tables of Unicode are ten times as slow.
static PATTERNS: LazyLock<[(String, &str); 11]> = LazyLock::new(|| {
    [
        (r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)".to_owned(), "***"),
        // As in libpq's pairs: unquoted, it may end anywhere, so that nothing behind it is shown.
        (
            r#"((?i-u:password) ?= ?)(?:(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")($|[ ,;'")\]}])|.+)"#.to_owned(),
            "${1}***${2}",
        ),
        // In a URL. One that was not encoded may hold anything; what begins with a digit is more often a port.
        (r"(:/+)(?:[^ /?#:]*:[^ 0-9/].*|[^ /?#:]*:[^ ]*)@".to_owned(), "${1}***@"),
        (r"(://)[^ /?#:]+@".to_owned(), "${1}***@"),
        // Without its host, in the place of a port.
        (r"(://[^ /?#:@\[]*:)(?:[0-9]*[A-Za-z_!$%&*+=~^-][^ /?#]*|[0-9]{6,})".to_owned(), "${1}***"),
        // A URL without a scheme, before what looks like a host with a path or a port.
        (r"((?-u:[\w+-]):)[^ /]+@((?-u:[\w.-]+(?:/|:\d)))".to_owned(), "${1}***@${2}"),
        (format!("({NAME}=>? ?){VALUE}"), "${1}***"),
        // After a slash it is the name of a file, and what follows says what is wrong with it.
        (format!("((?:^|[^/0-9A-Za-z_.-])(?-u:[\\w.-]*){NAME}: ?){VALUE}"), "${1}***"),
        // Bearers of news and basic functionality are no credentials.
        (r"(?-u)(\b(?i:bearer|basic) )[A-Za-z]?[a-z]*[A-Z0-9._~+/=-][\w.~+/=-]{4,}".to_owned(), "${1}***"),
        (SHAPES.to_owned(), "${host}***"),
        // PostgreSQL quotes the value that it could not read: a column's, in a function of the host's.
        (r#"((?:invalid input (?:syntax|value) for|malformed) [^:"]+: )".*""#.to_owned(), "${1}***"),
    ]
});

/// All patterns at once: most texts match none, and then no other expression is compiled.
static ANY: LazyLock<RegexSet> =
    LazyLock::new(|| RegexSet::new(PATTERNS.iter().map(|(pattern, _)| pattern)).expect("regular expressions"));

static EACH: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let regex = |pattern: &str| Regex::new(pattern).expect("a regular expression");
    PATTERNS.iter().map(|(pattern, stays)| (regex(pattern), *stays)).collect()
});

/// A text of others as it may be shown.
pub fn redact(text: &str) -> String {
    let mut text = one_line(text);
    if ANY.is_match(&text) {
        for (regex, stays) in EACH.iter() {
            if let Cow::Owned(censored) = regex.replace_all(&text, *stays) {
                text = censored;
            }
        }
    }
    text
}

/// True if a text may be shown as it is.
pub fn is_plain(text: &str) -> bool {
    redact(text) == text
}

/// An id as it may be shown: on SQLite an id is what others wrote, too.
pub fn redact_id(id: &Id) -> Id {
    Id(redact(&id.0))
}

/// The length of a quotation in characters.
const QUOTED_MAX: usize = 150;

/// A quotation in a comment, which is Markdown that agents read: cut, in a code span that nothing in it can close,
/// between quotation marks. Credentials are hidden first: in the whole comment one's pattern could take the closing
/// backtick with it.
pub fn quoted(text: &str) -> String {
    // Boards that look for [mentions](in://the) whole text do not know of code spans.
    let text = redact(text).replace('`', "'").replace("](", "] (");
    let text = match text.chars().count() {
        0 => "(empty)".to_owned(),
        1..=QUOTED_MAX => text,
        _ => cut(&text, QUOTED_MAX - 1),
    };
    format!("“`{text}`”")
}

/// A text as a database of any encoding keeps it: the quotation marks, dashes and ellipses that sweep prints are not in
/// all of them.
pub fn plain(text: &str) -> String {
    text.replace(['“', '”', '„'], "\"").replace(['‘', '’'], "'").replace(['–', '—'], "-").replace('…', "...")
}

/// A document with each of its texts as it may be shown.
pub fn shown_in(document: Value) -> Value {
    match document {
        Value::String(text) => Value::String(redact(&text)),
        Value::Array(values) => values.into_iter().map(shown_in).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, shown_in(value))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => document,
    }
}

/// The first `max` characters of a text, and an ellipsis if there are more.
pub fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use regex::Regex;

    use super::{ANY, quoted, redact};
    use crate::rules::display::is_invisible;

    #[rstest]
    #[case("postgres://app:hunter2@db/app", "postgres://***@db/app")]
    #[case("postgres://app:hunter2@db:5432/app?x=1", "postgres://***@db:5432/app?x=1")]
    #[case("postgres://app:12/hunter2@db/app", "postgres://***@db/app")]
    #[case("postgres://app:hun@ter2@db/app", "postgres://***@db/app")]
    #[case("postgres://app:hun ter2@db/app", "postgres://***@db/app")]
    #[case("postgres://app:h@n ter2@db/app", "postgres://***@db/app")]
    #[case("postgres:/app:hunter2@db/app", "postgres:/***@db/app")]
    #[case("postgres://app:hunter2/app", "postgres://app:***/app")]
    #[case("postgres://app:2hunter2", "postgres://app:***")]
    #[case("app:hunter2@db/app", "app:***@db/app")]
    #[case("app:hunter2@db:5432", "app:***@db:5432")]
    #[case("clone https://hunter2@git.example/x", "clone https://***@git.example/x")]
    #[case("'postgres://a:hunter2@h/d', 'postgres://b:hunter2@h/d'", "'postgres://***@h/d'")]
    #[case("postgres:///app?user=a&password=hun/ter2@x", "postgres:///app?user=a&password=***")]
    #[case("host=db password=hunter2 user=app", "host=db password=***")]
    #[case("host=db password = 'hun ter2' user=app", "host=db password = *** user=app")]
    #[case("host=db password='hun'ter2' user=app", "host=db password=***")]
    #[case("'host=db password=hun ter2' found", "'host=db password=***")]
    #[case("PGPASSWORD=hunter2 psql", "PGPASSWORD=***")]
    #[case("Password: hunter2, then", "Password: *** then")]
    #[case("db_passwd:hunter2", "db_passwd:***")]
    #[case("GITHUB_TOKEN=hunter2 make", "GITHUB_TOKEN=*** make")]
    #[case("https://h/x?token=hunter2&a=b", "https://h/x?token=***")]
    #[case("{\"api_key\": \"hun \\\" ter2\", \"a\": 1}", "{\"api_key\": ***, \"a\": 1}")]
    #[case("{\\\"apiKey\\\":\\\"hun ter2\\\",\\\"a\\\":1}", "{\\\"apiKey\\\":***,\\\"a\\\":1}")]
    #[case("{'client_secret': 'hun ter2'}", "{'client_secret': ***}")]
    #[case("private-key: \"hunter2 and no end", "private-key: ***")]
    #[case("secretAccessKey => hunter2", "secretAccessKey => ***")]
    #[case("curl -H 'Authorization: Bearer hunter2' x", "curl -H 'Authorization: *** x")]
    #[case("Authorization: token hunter2", "Authorization: ***")]
    #[case("sent Bearer hunter2-and-more", "sent Bearer ***")]
    #[case("sent Basic aHVudGVyMjpodW50ZXIy", "sent Basic ***")]
    #[case("the key sk-ant-api03-hunter2hunter2 leaked", "the key *** leaked")]
    #[case("ghp_hunter2hunter2hunter2 leaked", "*** leaked")]
    #[case("github_pat_11ABC_hunter2hunter2", "***")]
    #[case("xoxb-1234-hunter2", "***")]
    #[case("AKIAHUNTER2HUNTER2AB", "***")]
    #[case("glpat-hunter2-hunter2", "***")]
    #[case("AIzaHunter2Hunter2Hunter2Hunter2Hunter2", "***")]
    #[case("sk_live_hunter2hunter2", "***")]
    #[case("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.hunter2_-x", "***")]
    #[case("to https://hooks.slack.com/services/T0/B0/hunter2 now", "to https://hooks.slack.com/services/*** now")]
    #[case("invalid input syntax for type uuid: \"hunter2\"", "invalid input syntax for type uuid: ***")]
    #[case("malformed array literal: \"hun\"ter2\"", "malformed array literal: ***")]
    #[case("to https://discord.com/api/webhooks/12/hunter2 now", "to https://discord.com/api/webhooks/12/*** now")]
    #[case(
        "https://x.logic.azure.com/workflows/1?sv=1&sig=hunter2 now",
        "https://x.logic.azure.com/workflows/1?sv=1&sig=*** now"
    )]
    #[case("-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY----- end", "*** end")]
    #[case("-----BEGIN PRIVATE KEY-----\nhunter2, cut off", "***")]
    fn what_looks_like_a_credential_is_not_shown(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(redact(text), expected);
    }

    #[rstest]
    #[case("token bucket")]
    #[case("it waits: secret santa")]
    #[case("password reset flow")]
    #[case("password authentication failed for user \"app\"")]
    #[case("max_tokens: 4096, tokens=12")]
    #[case("tokenizer: fast")]
    #[case("use token::Lexer")]
    #[case("a bearer of news, Basic functionality, bearer authentication")]
    #[case("see https://medium.com/@user/post and http://localhost:3000/a, http://h:80, then mail bob@corp.example")]
    #[case("https://[::1]:8080/x")]
    #[case("mailto:bob@corp.example, npm:lodash@4.17.21, @types/node")]
    #[case("/run/secrets/database_password: No such file or directory")]
    #[case("DATABASE_URL: expected postgres://… or sqlite://PATH, found mysql://…")]
    #[case("sk-learn, task-force-alpha-one, desk-1")]
    #[case("Überprüfung der Geheimnisse – in Arbeit")]
    fn ordinary_words_are_shown_as_they_are(#[case] text: &str) {
        assert_eq!(redact(text), text);
    }

    #[rstest]
    #[case("Ada", "“`Ada`”")]
    #[case("a`b``c", "“`a'b''c`”")]
    #[case("password=", "“`password=`”")]
    #[case("password=hunter2` and more", "“`password=***`”")]
    #[case("![a](b) [c][d]", "“`![a] (b) [c][d]`”")]
    #[case("\u{200b}\n", "“`(empty)`”")]
    fn what_is_quoted_stands_in_one_code_span(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(quoted(text), expected);
    }

    #[test]
    fn what_is_cut_was_hidden_before() {
        assert!(!quoted(&format!("{}-----BEGIN PRIVATE KEY-----hunter2", "x".repeat(120))).contains("hunter"));
        assert!(!quoted(&format!("{} ghp_hunter2hunter2hunter2", "x".repeat(140))).contains("hunter"));
    }

    /// The table is Unicode's: all that is no whitespace and cannot be seen.
    #[test]
    fn what_unicode_does_not_show_is_not_shown() {
        let unseen = Regex::new(r"^[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]$").expect("a regular expression");
        for c in (0..=0x10_FFFF).filter_map(char::from_u32) {
            assert_eq!(is_invisible(c), unseen.is_match(c.encode_utf8(&mut [0; 4])), "U+{:04X}", u32::from(c));
        }
        assert!(('\u{E0000}'..='\u{E007F}').all(is_invisible), "tags, assigned or not");
    }

    #[rstest]
    #[case("می\u{200c}خواهم", "میخواهم")]
    #[case("👩\u{200d}💻 ⚠\u{fe0f}", "👩💻 ⚠")]
    #[case("soft\u{ad}hyphen", "softhyphen")]
    #[case("pass\u{200b}word=hunter2", "password=***")]
    #[case("a \u{200b} b\u{2028}c\u{85}d\te", "a b c d e")]
    #[case("日本語 Ünïcode é 🦀", "日本語 Ünïcode é 🦀")]
    fn what_can_be_read_stays(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(redact(text), expected);
    }

    #[test]
    fn ordinary_text_is_searched_once() {
        for text in ["it waits: the review of the service, see ACM-1234", "12:30 https://example.org/issues/7"] {
            assert!(!ANY.is_match(text), "each pattern would be searched for in {text}");
        }
        assert!(ANY.is_match("password=hunter2"), "negative control");
    }

    proptest! {
        /// Around it stands what may stand there in a sentence, a log or a document.
        #[test]
        fn a_password_is_hidden_whatever_stands_around_it(
            before in "[ a-z,:;(/=\"'{]{0,12}", secret in "[A-Za-z0-9!$%^*_+.-]{8,20}",
                after in "([ ,;&)\"'}][ a-z,;:/@]{0,12})?",
            form in prop::sample::select(vec!["x://u:S@h", "password=S", "password: S", "api_key=S", "\"token\":\"S\"",
                "u:S@h/x"]),
        ) {
            let text = format!("{before} {}{after}", form.replace('S', &secret));
            prop_assert!(!redact(&text).contains(&secret), "{text} → {}", redact(&text));
        }

        #[test]
        fn nothing_ends_a_quotation_but_its_end(text in any::<String>(), mark in "[`\\\\\n*_<>!\\[\\]() ]{0,9}") {
            let quoted = quoted(&format!("{mark}{text}{mark}"));
            let inside = quoted.strip_prefix("“`").and_then(|rest| rest.strip_suffix("`”")).expect("its marks");
            prop_assert!(!inside.contains('`') && (1..=150).contains(&inside.chars().count()), "{quoted}");
            prop_assert!(!inside.chars().any(is_invisible), "{quoted}");
        }

        #[test]
        fn any_text_can_be_shown_and_comes_out_on_one_line(text in any::<String>()) {
            prop_assert!(!redact(&text).chars().any(is_invisible));
        }
    }
}
