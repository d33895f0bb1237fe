//! What all pages have around their content: a title, a menu, what was read and as of when.

use chrono::{DateTime, Utc};

use super::route::{Here, Route, View};
use super::shown::{Mark, Minute};
use super::style_address;
use crate::rules::Kind;

/// Around the content of a page.
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
    /// This page.
    pub route: Route,
}

impl Frame {
    /// Around a page of one database.
    pub fn of(Here { route, called }: &Here, mark: Mark, title: String) -> Frame {
        Frame { database: Some(called.clone()), ..Frame::of_all(route, mark, title) }
    }

    /// Around the list of several databases.
    pub fn of_all(route: &Route, mark: Mark, title: String) -> Frame {
        Frame { title, mark, database: None, host: None, as_of: None, route: route.clone() }
    }

    /// Says what was read, and when by the database's clock.
    pub fn read_at(self, host: Option<&str>, at: DateTime<Utc>) -> Frame {
        Frame { host: host.map(str::to_owned), as_of: Some(Minute(at)), ..self }
    }

    pub fn menu(&self) -> impl Iterator<Item = (&'static str, Route)> {
        let is_one_of_several = self.route.database.is_some() || self.database.is_none();
        let all = is_one_of_several.then(|| ("All databases", self.route.to_all()));
        let views = [
            ("What needs a person", View::everything()),
            ("All work", View::list_of(None)),
            ("Sessions", View::list_of(Some(Kind::Session))),
            ("Plans", View::plans()),
            ("Sweeps", View::Sweeps),
        ];
        let views = views.map(|(text, view)| (text, self.route.to(view)));
        all.into_iter().chain(views.into_iter().filter(|_| self.database.is_some()))
    }

    pub fn style(&self) -> &'static str {
        style_address()
    }
}
