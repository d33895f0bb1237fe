//! What every page has around its content: its title, where it leads to, as of when it is, and whether it refreshes
//! itself.

use chrono::{DateTime, Utc};

use super::answer::style_address;
use super::chart::Mark;
use super::route::{Here, Route, View};
use super::shown::{Minute, Shown};

#[derive(Clone, Debug)]
pub struct Frame {
    /// Of the browser's tab.
    pub title: Shown,
    pub mark: Mark,
    /// None: it is about several.
    pub database: Option<Shown>,
    /// Whose tables it has.
    pub host: Option<Shown>,
    /// None: nothing could be read.
    pub as_of: Option<Minute>,
    pub menu: Vec<Entry>,
    pub refreshes: bool,
    /// The same page, refreshing itself or not.
    pub toggle: Route,
    pub style: &'static str,
}

/// A link of the menu.
#[derive(Clone, Debug)]
pub struct Entry {
    pub text: &'static str,
    pub href: Route,
    pub is_current: bool,
}

impl Frame {
    /// Around a page of one database.
    pub fn of(here: &Here, mark: Mark, title: &str) -> Frame {
        let Here { route, called } = here;
        let of_all = Entry { text: "All databases", href: all(route), is_current: false };
        let here = [("What needs a person", View::everything()), ("Sweeps", View::Sweeps)].map(|(text, view)| {
            let is_current = route.view == view;
            Entry { text, href: route.to(view), is_current }
        });
        let menu = route.database.iter().map(|_| of_all.clone()).chain(here).collect();
        Frame { menu, database: Some(called.clone()), ..Frame::plain(route, mark, title) }
    }

    /// Around the list of several databases.
    pub fn of_all(route: &Route, mark: Mark, title: &str) -> Frame {
        let menu = vec![Entry { text: "All databases", href: all(route), is_current: true }];
        Frame { menu, ..Frame::plain(route, mark, title) }
    }

    fn plain(route: &Route, mark: Mark, title: &str) -> Frame {
        Frame {
            title: Shown::of(title),
            mark,
            database: None,
            host: None,
            as_of: None,
            menu: Vec::new(),
            refreshes: route.refreshes,
            toggle: route.toggled(),
            style: style_address(),
        }
    }

    /// What was read, and when by the database's clock.
    pub fn read(self, host: Option<&str>, at: DateTime<Utc>) -> Frame {
        Frame { host: host.map(Shown::of), as_of: Some(Minute(at)), ..self }
    }
}

fn all(route: &Route) -> Route {
    Route { database: None, view: View::everything(), refreshes: route.refreshes }
}
