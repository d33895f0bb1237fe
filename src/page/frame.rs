//! What every page has around its content: its title, where it leads to, as of when it is, and whether it refreshes
//! itself. And the page that is shown in place of another: that the database is away, that there is no such page, or
//! that a row cannot be read. What was read before is never shown as if it were so now.

use askama::Template;
use axum::http::StatusCode;
use chrono::{DateTime, Utc};

use super::answer::style_address;
use super::chart::Mark;
use super::reader::{LastKnown, Trouble};
use super::route::{Here, Route, View};
use super::shown::Minute;
use crate::conclusion::Conclusion;

#[derive(Clone, Debug)]
pub struct Frame {
    /// The title of the browser's tab.
    pub title: String,
    pub mark: Mark,
    /// None: the page is about several databases.
    pub database: Option<String>,
    /// The control plane of the database.
    pub host: Option<String>,
    /// None: nothing could be read.
    pub as_of: Option<Minute>,
    pub menu: Vec<MenuEntry>,
    pub refreshes: bool,
    /// This page, refreshing itself or not.
    pub toggle: Route,
    pub style: &'static str,
}

/// A link of the menu.
#[derive(Clone, Debug)]
pub struct MenuEntry {
    pub text: &'static str,
    pub href: Route,
    pub is_current: bool,
}

impl Frame {
    /// Around a page of one database.
    pub fn of(here: &Here, mark: Mark, title: String) -> Frame {
        let Here { route, called } = here;
        let mut menu = Vec::new();
        if route.database.is_some() {
            menu.push(MenuEntry { text: "All databases", href: route.to_all(), is_current: false });
        }
        for (text, view) in [("What needs a person", View::everything()), ("Sweeps", View::Sweeps)] {
            menu.push(MenuEntry { text, is_current: route.view == view, href: route.to(view) });
        }
        Frame { menu, database: Some(called.clone()), ..Frame::of_all(route, mark, title) }
    }

    /// Around the list of several databases.
    pub fn of_all(route: &Route, mark: Mark, title: String) -> Frame {
        Frame {
            title,
            mark,
            database: None,
            host: None,
            as_of: None,
            menu: vec![MenuEntry { text: "All databases", href: route.to_all(), is_current: true }],
            refreshes: route.refreshes,
            toggle: route.toggled(),
            style: style_address(),
        }
    }

    /// Says what was read, and when by the database's clock.
    pub fn read_at(self, host: Option<&str>, at: DateTime<Utc>) -> Frame {
        Frame { host: host.map(str::to_owned), as_of: Some(Minute(at)), ..self }
    }
}

#[derive(Template)]
#[template(path = "trouble.html")]
pub struct TroublePage {
    frame: Frame,
    heading: &'static str,
    why: String,
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
            // A right is missing, a migration or a file.
            Conclusion::Config => (StatusCode::SERVICE_UNAVAILABLE, "The database cannot be read"),
            _ => (StatusCode::SERVICE_UNAVAILABLE, "The database is away"),
        };
        let page = TroublePage::plain(heading, &trouble.why, here);
        if !trouble.is_of_the_database() {
            return (status, page);
        }
        let read_at = known.read_at.map(Minute);
        (status, TroublePage { is_away: true, since: known.away_in_words(), read_at, ..page })
    }

    pub fn nowhere(here: &Here) -> (StatusCode, TroublePage) {
        let why = "Nothing is at this address. It may be that of a database that is not shown any more.";
        (StatusCode::NOT_FOUND, TroublePage::plain("There is no such page", why, here))
    }

    fn plain(heading: &'static str, why: &str, here: &Here) -> TroublePage {
        let frame = Frame::of(here, Mark::Away, format!("{heading} · sweep"));
        TroublePage { frame, heading, why: why.to_owned(), since: String::new(), is_away: false, read_at: None }
    }
}
