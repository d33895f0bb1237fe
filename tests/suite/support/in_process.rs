//! Sweeps in this process, and what they reported.

use serde_json::Value;
use sweep::conclusion::Conclusion;
use sweep::report::{Detail, Format, Report};
use sweep::rules::request::{Asked, Request};
use sweep::rules::{Id, Policy};
use sweep::store::connect::open::{Store, Url};
use sweep::store::hosts::links::Links;
use sweep::store::hosts::rights::Purpose;
use sweep::store::work::outbox::Subscriptions;
use sweep::store::{Db, DbConnection, Subject, Timeouts, Writes};
use sweep::sweep::ask::{Answer, AskOptions, ask};
use sweep::sweep::examine::attempt::ExamineContext;
use sweep::sweep::examine::examine;
use sweep::sweep::limits::WakeBudget;
use sweep::sweep::{Cancel, Options, Outcome};

use crate::support::json;
use crate::support::starts::{self, Started};

/// The report of one sweep.
#[derive(Debug)]
pub struct Swept {
    pub exit: Conclusion,
    pub json: Value,
}

impl Swept {
    pub fn count(&self, kind: &str, outcome: &str) -> i64 {
        self.json["kinds"][kind][outcome].as_i64().unwrap_or_else(|| panic!("no {kind}.{outcome} in {}", self.json))
    }

    pub fn subject(&self, id: &Id) -> &Value {
        let subjects = self.json["subjects"].as_array().expect("subjects");
        subjects.iter().find(|row| row["id"] == id.0).unwrap_or(&Value::Null)
    }

    pub fn outcome(&self, id: &Id) -> &str {
        self.subject(id)["outcome"].as_str().unwrap_or("not examined")
    }
}

/// Queues a wake by facts seen earlier, whatever has become of the subject since.
pub fn wake(db: &mut Db, seen: &impl Subject) -> diesel::QueryResult<()> {
    let (id, mut writes) = (Id::generate(), Writes::default());
    seen.resume(&mut writes, &id, Some("Go on."))?;
    writes.execute(db)
}

/// Runs one sweep in this process.
pub fn sweep_once(options: &Options) -> Swept {
    starts::record(Started::Sweep);
    let mut out = Vec::new();
    let mut report = Report::new(Format::Json, Detail::Table, &mut out);
    let swept = sweep::sweep::run(options, &Cancel::default(), &mut report);
    let exit = swept.unwrap_or_else(|error| panic!("{error:#}")).conclusion;
    report.written().expect("a report");
    Swept { exit, json: json::parse_valid(&String::from_utf8(out).expect("UTF-8")) }
}

/// Examines one subject by a sweep that writes.
pub fn examine_by<S: Subject>(db: &mut DbConnection, id: &Id, policy: &Policy) -> Outcome {
    let (sweep_id, wakes, timeouts) = (Id::generate(), WakeBudget::new(10), Timeouts::default());
    let (subscriptions, links) = (Subscriptions::default(), Links::default());
    let context = ExamineContext::of_one(&sweep_id, policy, timeouts, &wakes, &subscriptions, &links);
    examine::<S>(db, id, &context).examined.outcome
}

/// A person with a connection, who makes one kind of request of one subject after the other.
pub struct Person {
    store: Store,
    asked: Asked,
    options: AskOptions,
}

impl Person {
    pub fn who_asks_for(world_url: &str, request: Request) -> Person {
        let database = Url::parse(world_url).expect("a URL");
        let store = database.open_to(Purpose::Ask(request)).unwrap_or_else(|error| panic!("{error:#}"));
        let options = AskOptions {
            database,
            policy: Policy::default(),
            timeouts: Timeouts::default(),
            subscriptions: Subscriptions::default(),
            links: Links::default(),
        };
        Person { store, asked: Asked { request, by: "ada".to_owned() }, options }
    }

    pub fn asks<S: Subject>(&mut self, id: &Id) -> Answer {
        ask::<S>(&mut self.store, id, &self.asked, &self.options)
    }
}
