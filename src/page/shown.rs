//! How templates show things. Whatever a template prints goes through `redact` and is then escaped: so it is on one
//! line, without invisible characters and credentials, and no text of others becomes markup. Only what is printed by
//! `|e("htm")` (addresses of our own making) is not redacted, and only `|safe` (our own drawings) is not escaped.
//!
//! All pictures are drawn here as SVG: the mark of a state, work by its state, and what was done on each day. They
//! consist of numbers and of our own words. Colours come from the style sheet by classes, so that no style stands in
//! the markup; shapes and words say the same as the colours do.

use std::fmt::{self, Display, Formatter, Write};

use askama::filters::{Escaper, Html};
use chrono::{DateTime, TimeDelta, Utc};

use crate::rules::display::HumanDuration;
use crate::store::read::overview::SweeperState;
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

/// How somebody who sweeps, or a database, is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Mark {
    Well,
    Failing,
    Late,
    Never,
    /// The database does not answer.
    Away,
}

impl From<SweeperState> for Mark {
    fn from(state: SweeperState) -> Mark {
        match state {
            SweeperState::Well => Mark::Well,
            SweeperState::Failing => Mark::Failing,
            SweeperState::Late => Mark::Late,
            SweeperState::Never => Mark::Never,
        }
    }
}

impl Mark {
    pub const ALL: &[Mark] = <Mark as strum::VariantArray>::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The state in a word, as a heading has it; its colour on a tab of any colour; and its shape: each has its own.
    fn look(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Mark::Well => ("Well", "#2e9e63", r#"<circle cx="12" cy="12" r="9"/><path d="M8 12.5l2.8 2.8L16.2 9.5"/>"#),
            Mark::Failing => {
                ("Failing", "#e0443a", r#"<path d="M12 3.5L22 20.5H2z"/><path d="M12 10v4.5M12 17.6v.1"/>"#)
            }
            Mark::Late => ("Late", "#c98a1b", r#"<circle cx="12" cy="12" r="9"/><path d="M12 7v5.2l3.4 2"/>"#),
            Mark::Never => ("Never swept", "#8a8f98", r#"<circle cx="12" cy="12" r="9" stroke-dasharray="3.4 3.67"/>"#),
            Mark::Away => ("Away", "#e0443a", r#"<circle cx="12" cy="12" r="9"/><path d="M5.8 18.2L18.2 5.8"/>"#),
        }
    }

    pub fn word(self) -> &'static str {
        self.look().0
    }

    /// Beside the word.
    pub fn svg(self) -> String {
        let (.., shape) = self.look();
        format!(r#"<svg class="mark" viewBox="0 0 24 24" aria-hidden="true" focusable="false">{shape}</svg>"#)
    }

    /// A file of its own, for the browser's tab.
    pub fn icon(self) -> String {
        let (_, colour, shape) = self.look();
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" color="{colour}" stroke="{colour}" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round">{shape}</svg>"#
        )
    }
}

/// Units of a drawing's width.
const WIDTH: f64 = 1000.0;

/// One bar of several parts: a class, what it is, and how much of it there is. Whatever there is can be seen.
pub fn stacked(parts: &[(&'static str, i64)], what: &str) -> String {
    const GAP: f64 = 4.0;
    const NARROWEST: f64 = 10.0;
    let there: Vec<_> = parts.iter().filter(|(_, n)| 0 < *n).collect();
    let total: i64 = there.iter().map(|(_, n)| n).sum();
    let free = WIDTH - (NARROWEST + GAP) * there.len() as f64;
    let (mut at, mut bars) = (0.0, String::new());
    for (state, n) in &there {
        let width = NARROWEST + free * (*n as f64) / (total.max(1) as f64);
        bars += &format!(
            r#"<rect class="state-{state}" x="{at:.1}" y="0" width="{width:.1}" height="20"><title>{}: {n}</title></rect>"#,
            state.replace('_', " ")
        );
        at += width + GAP;
    }
    let listed: Vec<String> = there.iter().map(|(state, n)| format!("{n} {state}")).collect();
    let listed = if listed.is_empty() { "none".to_owned() } else { listed.join(", ") };
    format!(
        r#"<svg class="stacked" viewBox="0 0 {WIDTH} 20" preserveAspectRatio="none" role="img" aria-label="{what}: {listed}">{bars}</svg>"#
    )
}

/// A column for each day: its date, and how much there was. All charts that stand together have one `highest`.
pub fn columns(series: &'static str, what: &str, days: &[(String, i64)], highest: i64) -> String {
    const HEIGHT: f64 = 40.0;
    let step = WIDTH / days.len().max(1) as f64;
    let mut columns = String::new();
    for (number, (date, n)) in days.iter().enumerate() {
        // A day with anything is never drawn as one without.
        let height = if *n == 0 { 1.0 } else { 4.0 + (HEIGHT - 4.0) * (*n as f64) / (highest.max(1) as f64) };
        let class = if *n == 0 { "nothing" } else { series };
        columns += &format!(
            r#"<rect class="series-{class}" x="{:.1}" y="{:.1}" width="{:.1}" height="{height:.1}"><title>{date}: {n}</title></rect>"#,
            number as f64 * step,
            HEIGHT - height,
            step * 0.72
        );
    }
    let total: i64 = days.iter().map(|(_, n)| n).sum();
    let most = days.iter().filter(|(_, n)| 0 < *n).max_by_key(|(_, n)| *n);
    let most = most.map(|(date, n)| format!(", the most on {date}: {n}")).unwrap_or_default();
    format!(
        r#"<svg class="columns-chart" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" aria-label="{what} on each day of the last four weeks: {total} in all{most}">{columns}</svg>"#
    )
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

    fn numbers<'a>(svg: &'a str, attribute: &'a str) -> Vec<f64> {
        let begin = format!(" {attribute}=\"");
        let parts = svg.split(&begin).skip(1).map(|rest| rest.split('"').next());
        parts.flatten().filter_map(|number| number.parse().ok()).collect()
    }

    #[test]
    fn what_there_is_can_be_seen_and_fits() {
        let svg = stacked(&[("escalated", 1), ("stalled", 0), ("active", 1_000_000)], "All work");
        let widths = numbers(&svg, "width");
        assert_eq!(widths.len(), 2);
        assert!(widths.iter().all(|width| 10.0 <= *width) && widths.iter().sum::<f64>() <= WIDTH, "{widths:?}");
        assert!(svg.contains(r#"aria-label="All work: 1 escalated, 1000000 active""#), "{svg}");
        assert!(stacked(&[], "All work").contains("All work: none"));
    }

    #[test]
    fn the_highest_column_has_the_whole_height_and_the_lowest_is_not_nothing() {
        let days = [0, 1, 100].map(|n| ("2026-11-25".to_owned(), n));
        let svg = columns("continued", "continued", &days, 100);
        let heights = numbers(&svg, "height");
        assert_eq!(heights[0], 1.0);
        assert!(4.0 < heights[1] && heights[1] < 5.0 && heights[2] == 40.0, "{heights:?}");
        assert!(svg.contains("101 in all, the most on 2026-11-25: 100"), "{svg}");
    }

    #[test]
    fn no_style_stands_in_the_markup() {
        let drawn = [stacked(&[("active", 1)], "x"), columns("continued", "x", &[], 0), Mark::Away.svg()];
        assert!(drawn.iter().all(|svg| !svg.contains("style=")), "{drawn:?}");
    }
}
