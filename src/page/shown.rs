//! How templates show things. Whatever a template prints goes through `redact` and is then escaped: so it is on one
//! line, without invisible characters and credentials, and no text of others becomes markup. Only what is printed by
//! `|e("htm")` (addresses of our own making) is not redacted, and only `|safe` (our own drawings) is not escaped.

use std::fmt::{self, Display, Formatter, Write};

use askama::filters::{Escaper, Html};
use chrono::{DateTime, TimeDelta, Utc};

use crate::rules::display::HumanDuration;
use crate::text::redact;

/// The escaper of all templates (askama.toml). It sees a text as a whole, but what a `Display` writes piece by piece.
#[derive(Clone, Copy, Default)]
pub struct Redacted;

impl Escaper for Redacted {
    fn write_escaped_str<W: Write>(&self, to: W, text: &str) -> fmt::Result {
        Html.write_escaped_str(to, &redact(text))
    }
}

/// The address, if it is one of a web page: a link that leads out leads nowhere else.
pub fn web_page(url: &Option<String>) -> Option<&str> {
    url.as_deref().filter(|url| ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme)))
}

/// A time to the minute, for people and for programs.
#[derive(Clone, Copy, Debug)]
pub struct Minute(pub DateTime<Utc>);

impl Minute {
    pub fn machine(&self) -> String {
        self.0.format("%Y-%m-%dT%H:%MZ").to_string()
    }
}

impl Display for Minute {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(&self.0.format("%Y-%m-%d %H:%M UTC").to_string())
    }
}

/// A time span in words, to the minute: so two pages of one minute are the same as long as nothing has happened.
pub fn age(seconds: Option<i64>) -> String {
    match seconds {
        None => "an unknown time".to_owned(),
        Some(seconds) if seconds < 60 => "less than a minute".to_owned(),
        Some(seconds) => HumanDuration(TimeDelta::seconds(seconds)).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use askama::Template;

    use super::*;

    #[derive(Template)]
    #[template(source = r#"<p title="{{ text }}">{{ text }} {{ at }}</p>"#, ext = "html")]
    struct Sample<'a> {
        text: &'a str,
        at: Minute,
    }

    #[test]
    fn what_a_template_prints_is_redacted_and_escaped() {
        let text = "<b>\"one & two\u{202e}\npassword=hunter2";
        let shown = Sample { text, at: Minute(DateTime::UNIX_EPOCH) }.render().expect("a page");
        assert!(!shown.contains("hunter2") && !shown.contains("<b>") && !shown.contains('\u{202e}'), "{shown}");
        assert!(shown.contains("one &#38; two password=***") && shown.contains("1970-01-01 00:00 UTC"), "{shown}");
    }

    #[test]
    fn a_link_leads_to_a_web_page_and_nowhere_else() {
        for (url, is_one) in [("https://a.example/", true), ("http://a/", true), ("javascript:x", false), ("", false)] {
            assert_eq!(web_page(&Some(url.to_owned())).is_some(), is_one, "{url}");
        }
    }
}
