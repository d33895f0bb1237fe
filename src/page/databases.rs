//! Several databases: each with its headline, or why it is away.

use askama::Template;

use super::chart::Mark;
use super::frame::Frame;
use super::reader::{LastKnown, ReadView, ViewResult};
use super::route::{Route, View};
use super::shown::{Minute, Shown};
use super::trouble::since;
use crate::report::attention::needs;
use crate::rules::display::counted;

#[derive(Template)]
#[template(path = "databases.html")]
pub struct DatabasesPage {
    frame: Frame,
    heading: String,
    databases: Vec<DatabaseView>,
}

struct DatabaseView {
    name: Shown,
    href: Route,
    mark: Mark,
    summary: Shown,
    needs: String,
    items: i64,
    as_of: Option<Minute>,
}

impl DatabasesPage {
    pub fn of(read: &[(String, ViewResult, LastKnown)], route: &Route) -> DatabasesPage {
        let databases: Vec<DatabaseView> =
            read.iter().map(|(name, reading, known)| DatabaseView::of(name, reading, *known, route)).collect();
        let total: i64 = databases.iter().map(|database| database.items).sum();
        let worst = [Mark::Away, Mark::Failing, Mark::Late, Mark::Never];
        let mark = worst.into_iter().find(|mark| databases.iter().any(|database| database.mark == *mark));
        let mark = mark.unwrap_or(Mark::Well);
        let heading = format!("{}: {}", counted(databases.len() as i64, "database", "databases"), needs(total));
        let title = format!("{} · {} · sweep", mark.word(), needs(total));
        DatabasesPage { frame: Frame::of_all(route, mark, &title), heading, databases }
    }
}

impl DatabaseView {
    fn of(name: &str, reading: &ViewResult, known: LastKnown, route: &Route) -> DatabaseView {
        let view = View::everything();
        let href = Route { database: Some(name.to_owned()), view, refreshes: route.refreshes };
        let (mark, summary, needs, items, as_of) = match reading {
            Ok(ReadView::Work(read)) => {
                let items = read.part.items_total;
                let mark = Mark::from(read.sweeper.state);
                (mark, Shown::of(&read.sweeper.summary), needs(items), items, Some(Minute(read.observed_at)))
            }
            Ok(ReadView::Subject(_)) => (Mark::Away, Shown::of(""), String::new(), 0, None),
            Err(trouble) => (Mark::Away, Shown::of(&trouble.why), since(known), 0, known.read_at.map(Minute)),
        };
        DatabaseView { name: Shown::of(name), href, mark, summary, needs, items, as_of }
    }
}
