//! Several databases: each with its headline, or why it is away.

use askama::Template;

use super::chart::Mark;
use super::frame::Frame;
use super::reader::{LastKnown, ReadView, ViewResult};
use super::route::{Route, View};
use super::shown::Minute;
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
    name: String,
    href: Route,
    mark: Mark,
    summary: String,
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
        DatabasesPage { frame: Frame::of_all(route, mark, title), heading, databases }
    }
}

impl DatabaseView {
    fn of(name: &str, reading: &ViewResult, known: LastKnown, route: &Route) -> DatabaseView {
        let href = Route { database: Some(name.to_owned()), view: View::everything(), refreshes: route.refreshes };
        let (mark, summary, needs, items, as_of) = match reading {
            Ok(ReadView::Work(read)) => {
                let (sweeper, items) = (&read.sweeper, read.part.items_total);
                (sweeper.state.into(), sweeper.summary.clone(), needs(items), items, Some(Minute(read.observed_at)))
            }
            Ok(ReadView::Subject(_)) => (Mark::Away, String::new(), String::new(), 0, None),
            Err(trouble) => (Mark::Away, trouble.why.clone(), known.away_in_words(), 0, known.read_at.map(Minute)),
        };
        DatabaseView { name: name.to_owned(), href, mark, summary, needs, items, as_of }
    }
}
