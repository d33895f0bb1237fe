//! The addresses of the page: each is made and read here.
//!
//! ```text
//!  /   /sweeps   /tenants/NAME   /agents/ID   /issues/ID   /sessions/ID   /steps/ID   /plans/ID
//!  /work   /issues   /sessions   /steps   /plans   with ?state= &tenant= &agent= &plan= &q=
//! ```
//!
//! Each of several databases has these below `/databases/NAME`. `?after=PLACE` is the next page of a list, `?from=N`
//! are the steps of a plan behind so many, and `?refresh=off` is a page that does not refresh itself. Names and ids are
//! any text: what no path can have, a text of dots or none at all, begins with a tilde.

use std::fmt::{Display, Formatter};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use percent_encoding::{percent_decode_str, utf8_percent_encode};

use crate::rules::board::BoardState;
use crate::rules::{Id, Kind};
use crate::store::read::overview::{Cursor, Scope};
use crate::store::read::plan::StepWindow;
use crate::store::read::work_list::WorkFilter;
use crate::text::{NOT_UNRESERVED, is_plain};

/// One page.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// None: the page is of the only database; or, of several, the list of them.
    pub database: Option<String>,
    pub view: View,
    pub refreshes: bool,
}

/// What is shown of a database.
#[derive(Clone, Debug, PartialEq)]
pub enum View {
    /// What needs a person, and how the work stands: everybody's, a tenant's or an agent's.
    Work {
        scope: Scope,
        after: Option<Cursor>,
    },
    /// One subject explained: by its id, or by what people call it.
    Subject(Kind, String),
    Sweeps,
    /// Work in progress, healthy or not.
    List {
        filter: WorkFilter,
        after: Option<Cursor>,
    },
    /// One plan, by its id or its title, with some of its steps.
    Plan(String, StepWindow),
    /// Plans: those with this in their titles, behind the one with an id; or those with steps in progress.
    Plans {
        name: Option<String>,
        after: Option<String>,
    },
}

impl View {
    pub fn everything() -> View {
        View::of(Scope::default())
    }

    pub fn of(scope: Scope) -> View {
        View::Work { scope, after: None }
    }

    pub fn list(filter: WorkFilter) -> View {
        View::List { filter, after: None }
    }

    /// The list of all work of a kind.
    pub fn list_of(kind: Option<Kind>) -> View {
        View::list(WorkFilter { kind, ..WorkFilter::default() })
    }

    pub fn plans() -> View {
        View::Plans { name: None, after: None }
    }
}

impl Route {
    /// The route of this address; none: there is no such page.
    pub fn parse(path: &str, query: &str) -> Option<Route> {
        let segments: Vec<String> =
            path.split('/').filter(|part| !part.is_empty()).map(text_of).collect::<Option<_>>()?;
        let parts = segments.iter().map(String::as_str).collect::<Vec<_>>();
        let (database, parts) = match &parts[..] {
            ["databases", name, parts @ ..] => (Some((*name).to_owned()), parts),
            parts => (None, parts),
        };
        let mut route = Route { database, view: view_of(parts)?, refreshes: true };
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            // A form has plus signs for spaces.
            let value = text_in(&value.replace('+', " "))?;
            match (name, &mut route.view) {
                ("refresh", _) => route.refreshes = value != "off",
                ("after", View::Work { after, .. } | View::List { after, .. }) => {
                    *after = Some(decoded(&value)?.parse().ok()?);
                }
                ("after", View::Plans { after, .. }) => *after = Some(decoded(&value)?),
                ("from", View::Plan(_, window)) => *window = StepWindow::Behind(value.parse().ok()?),
                ("state", View::List { filter, .. }) => filter.states.push(BoardState::parse(&value)?),
                ("tenant", View::List { filter, .. }) => filter.scope.tenant = Some(value),
                ("agent", View::List { filter, .. }) => filter.scope.agent = Some(value),
                ("plan", View::List { filter, .. }) if filter.kind.is_none_or(|kind| kind == Kind::Step) => {
                    filter.plan = Some(value);
                }
                ("q", View::List { filter: WorkFilter { name, .. }, .. } | View::Plans { name, .. }) => {
                    *name = Some(value).filter(|name| !name.trim().is_empty());
                }
                _ => {}
            }
        }
        Some(route)
    }

    /// Another page of the same database, which refreshes itself as this one does.
    pub fn to(&self, view: View) -> Route {
        Route { view, ..self.clone() }
    }

    /// This page, refreshing itself or not.
    pub fn toggled(&self) -> Route {
        Route { refreshes: !self.refreshes, ..self.clone() }
    }

    /// The page of a subject; none, if its id may not be shown as it is: what an address has in it can be read in logs
    /// and histories.
    pub fn to_subject(&self, kind: Kind, id: &Id) -> Option<Route> {
        is_plain(&id.0).then(|| self.to(View::Subject(kind, id.0.clone())))
    }

    /// The page of a plan; none, as for a subject.
    pub fn to_plan(&self, id: &Id) -> Option<Route> {
        is_plain(&id.0).then(|| self.to(View::Plan(id.0.clone(), StepWindow::Around)))
    }

    /// A list; none, if it is asked for by what may not be shown.
    pub fn to_list(&self, filter: WorkFilter) -> Option<Route> {
        let WorkFilter { scope: Scope { tenant, agent }, plan, .. } = &filter;
        let is_plain = [tenant, agent, plan].into_iter().flatten().all(|text| is_plain(text));
        is_plain.then(|| self.to(View::list(filter)))
    }

    /// All databases, or the front page of the only one.
    pub fn to_all(&self) -> Route {
        Route { database: None, view: View::everything(), refreshes: self.refreshes }
    }

    /// The page of an agent by its id, else by its name.
    pub fn to_agent(&self, id: Option<&Id>, name: Option<&str>) -> Option<Route> {
        let agent = id.map(|id| id.0.as_str()).or(name).filter(|agent| !agent.is_empty() && is_plain(agent))?;
        Some(self.to(View::of(Scope { agent: Some(agent.to_owned()), ..Scope::default() })))
    }

    /// An agent's name, or else its id, with a link to its page.
    pub fn agent_link(&self, id: Option<&Id>, name: Option<&str>) -> Option<Link> {
        let text = name.or(id.map(|id| id.0.as_str())).filter(|text| !text.is_empty())?;
        Some(Link { text: text.to_owned(), href: self.to_agent(id, name) })
    }

    pub fn tenant_link(&self, tenant: &str) -> Link {
        let scope = Scope { tenant: Some(tenant.to_owned()), ..Scope::default() };
        Link { text: tenant.to_owned(), href: is_plain(tenant).then(|| self.to(View::of(scope))) }
    }
}

fn view_of(parts: &[&str]) -> Option<View> {
    let of = |scope| Some(View::of(scope));
    match *parts {
        [] => Some(View::everything()),
        ["sweeps"] => Some(View::Sweeps),
        ["work"] => Some(View::list_of(None)),
        ["plans"] => Some(View::plans()),
        ["plans", id] => Some(View::Plan(id.to_owned(), StepWindow::Around)),
        ["tenants", name] => of(Scope { tenant: Some(name.to_owned()), ..Scope::default() }),
        ["agents", id] => of(Scope { agent: Some(id.to_owned()), ..Scope::default() }),
        [kinds] => Some(View::list_of(Some(kind_of(kinds)?))),
        [kinds, id] => Some(View::Subject(kind_of(kinds)?, id.to_owned())),
        _ => None,
    }
}

fn kind_of(plural: &str) -> Option<Kind> {
    Kind::ALL.iter().copied().find(|kind| kind.plural() == plural)
}

/// A name or an id as a part of a path.
fn segment(text: &str) -> String {
    // Browsers take dots for a way up.
    let tilde = if text.starts_with('~') || text.chars().all(|c| c == '.') { "~" } else { "" };
    format!("{tilde}{}", utf8_percent_encode(text, NOT_UNRESERVED))
}

fn text_of(segment: &str) -> Option<String> {
    text_in(segment.strip_prefix('~').unwrap_or(segment))
}

/// Encoded, since there is an id in it of which nobody knows what it holds.
fn encoded(place: &str) -> String {
    format!("after={}", URL_SAFE_NO_PAD.encode(place))
}

fn decoded(place: &str) -> Option<String> {
    let place = String::from_utf8(URL_SAFE_NO_PAD.decode(place).ok()?).ok()?;
    (!place.contains('\0')).then_some(place)
}

fn text_in(part: &str) -> Option<String> {
    let text = percent_decode_str(part).decode_utf8().ok()?;
    // No text of PostgreSQL has a NUL character.
    (!text.contains('\0')).then(|| text.into_owned())
}

fn parameter(name: &str, value: &str) -> String {
    format!("{name}={}", utf8_percent_encode(value, NOT_UNRESERVED))
}

/// What a list is asked for by, besides its kind.
pub fn parameters(filter: &WorkFilter) -> Vec<(&'static str, String)> {
    let WorkFilter { kind: _, states, scope: Scope { tenant, agent }, plan, name } = filter;
    let states = states.iter().map(|state| ("state", state.name().to_owned()));
    let texts = [("tenant", tenant), ("agent", agent), ("plan", plan), ("q", name)];
    states.chain(texts.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)))).collect()
}

impl Display for Route {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        if let Some(name) = &self.database {
            write!(f, "/databases/{}", segment(name))?;
        }
        let mut query = Vec::new();
        match &self.view {
            View::Work { scope: Scope { tenant, agent }, after } => {
                match (tenant, agent) {
                    (Some(tenant), _) => write!(f, "/tenants/{}", segment(tenant))?,
                    (None, Some(agent)) => write!(f, "/agents/{}", segment(agent))?,
                    (None, None) => f.write_str("/")?,
                }
                query.extend(after.iter().map(|after| encoded(&after.to_string())));
            }
            View::Subject(kind, id) => write!(f, "/{}/{}", kind.plural(), segment(id))?,
            View::Sweeps => f.write_str("/sweeps")?,
            View::List { filter, after } => {
                write!(f, "/{}", filter.kind.map_or("work", Kind::plural))?;
                query.extend(parameters(filter).into_iter().map(|(name, value)| parameter(name, &value)));
                query.extend(after.iter().map(|after| encoded(&after.to_string())));
            }
            View::Plan(id, window) => {
                write!(f, "/plans/{}", segment(id))?;
                if let StepWindow::Behind(steps) = window {
                    query.push(format!("from={steps}"));
                }
            }
            View::Plans { name, after } => {
                f.write_str("/plans")?;
                query.extend(name.iter().map(|name| parameter("q", name)));
                query.extend(after.iter().map(|after| encoded(after)));
            }
        }
        if !self.refreshes {
            query.push("refresh=off".to_owned());
        }
        if query.is_empty() { Ok(()) } else { write!(f, "?{}", query.join("&")) }
    }
}

/// Where a page is.
#[derive(Clone, Debug)]
pub struct Here {
    pub route: Route,
    /// What its database is called.
    pub called: String,
}

/// A text that leads to a page, if there is one.
#[derive(Clone, Debug)]
pub struct Link {
    pub text: String,
    pub href: Option<Route>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(address: &str) -> Option<Route> {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        Route::parse(path, query)
    }

    proptest! {
        #[test]
        fn an_address_is_read_as_it_was_made(
            database in prop::option::of(any::<String>()), text in any::<String>(), which in 0..9, refreshes: bool,
        ) {
            let text = text.replace('\0', "");
            let name = Some(text.clone()).filter(|name| !name.trim().is_empty());
            let scope = |tenant, agent| Scope { tenant, agent };
            let after = "2026-11-25T07:37:38.464Z~issue~a/b?c".parse().ok();
            let view = match which {
                0 => View::Work { scope: Scope::default(), after },
                1 => View::Work { scope: scope(Some(text), None), after },
                2 => View::of(scope(None, Some(text))),
                3 => View::Subject(Kind::Step, text),
                4 => View::Sweeps,
                5 => View::Plan(text, StepWindow::Around),
                6 => View::Plan(text, StepWindow::Behind(7)),
                7 => View::Plans { name, after: Some(text) },
                _ => {
                    let states = vec![BoardState::Escalated, BoardState::Active];
                    let (kind, plan) = (Some(Kind::Step), Some(text.clone()));
                    let scope = scope(Some(text.clone()), Some(text));
                    View::List { filter: WorkFilter { kind, states, scope, plan, name }, after }
                }
            };
            let route = Route { database, view, refreshes };
            let address = route.to_string();
            prop_assert!(address.chars().all(|c| c.is_ascii_alphanumeric() || "/-._~%?&=".contains(c)), "{}", address);
            prop_assert!(!address.split('/').any(|part| part == "." || part == ".."), "{}", address);
            prop_assert_eq!(read(&address), Some(route));
        }

        #[test]
        fn any_address_is_read_or_refused(path in "/[a-z~%./é0-9]{0,40}", query in "[a-z=&%~]{0,40}") {
            let _ = Route::parse(&path, &query);
        }
    }

    #[test]
    fn what_is_no_page_is_none() {
        for address in [
            "/x", "/issues/1/2", "/plans/1/2", "/?after=x", "/issues/%ff", "/issues/%00", "/databases",
            "/work?state=x", "/work?q=%ff", "/plans/1?from=x", "/plans?after=!",
        ] {
            assert_eq!(read(address), None, "{address}");
        }
        let found = read("/sessions?q=a+b%2B&state=active&x=y").map(|route| route.to_string());
        assert_eq!(found.as_deref(), Some("/sessions?state=active&q=a%20b%2B"));
        let of_plan = ["/issues", "/sessions"].map(|list| read(&format!("{list}?plan=1")).map(|to| to.to_string()));
        assert_eq!(of_plan, ["/issues", "/sessions"].map(|list| Some(list.to_owned())), "only steps are a plan's");
        assert_eq!(read("//sweeps/?refresh=on").map(|route| route.to_string()).as_deref(), Some("/sweeps"));
    }
}
