//! What is shown in place of a page: that the database is away, that there is no such page, or that a row cannot be
//! read. What was read before is never shown as if it were so now.

use askama::Template;
use axum::http::StatusCode;
use chrono::TimeDelta;

use super::chart::Mark;
use super::frame::Frame;
use super::reader::{LastKnown, Trouble};
use super::route::Here;
use super::shown::{Minute, Shown, age};
use crate::conclusion::Conclusion;

#[derive(Template)]
#[template(path = "trouble.html")]
pub struct TroublePage {
    frame: Frame,
    heading: &'static str,
    why: Shown,
    since: String,
    is_away: bool,
    read_at: Option<Minute>,
}

impl TroublePage {
    pub fn of(trouble: &Trouble, known: LastKnown, here: &Here) -> (StatusCode, TroublePage) {
        let (status, heading) = match trouble.conclusion {
            Conclusion::Usage => (StatusCode::NOT_FOUND, "There is no such page"),
            Conclusion::SomeFailed => (StatusCode::OK, "It cannot be read"),
            Conclusion::Busy => (StatusCode::SERVICE_UNAVAILABLE, "Too many ask at once"),
            // Of a right that is missing, a migration or a file.
            Conclusion::Config => (StatusCode::SERVICE_UNAVAILABLE, "The database cannot be read"),
            _ => (StatusCode::SERVICE_UNAVAILABLE, "The database is away"),
        };
        let page = TroublePage::plain(heading, &trouble.why, here);
        if !trouble.is_of_the_database() {
            return (status, page);
        }
        let read_at = known.read_at.map(Minute);
        (status, TroublePage { is_away: true, since: since(known), read_at, ..page })
    }

    pub fn nowhere(here: &Here) -> (StatusCode, TroublePage) {
        let why = "Nothing is at this address. It may be that of a database that is not shown any more.";
        (StatusCode::NOT_FOUND, TroublePage::plain("There is no such page", why, here))
    }

    fn plain(heading: &'static str, why: &str, here: &Here) -> TroublePage {
        let frame = Frame::of(here, Mark::Away, &format!("{heading} · sweep"));
        TroublePage { frame, heading, why: Shown::of(why), since: String::new(), is_away: false, read_at: None }
    }
}

/// Since when a database could not be read, as far as this process knows.
pub fn since(known: LastKnown) -> String {
    let Some(away_for) = known.away_for() else { return String::new() };
    let seconds = TimeDelta::from_std(away_for).unwrap_or_default().num_seconds();
    format!("It has been unreadable for {}.", age(Some(seconds)))
}
