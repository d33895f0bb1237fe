//! Sweeps in this process, and what they said.

use serde_json::Value;
use sweep::cli::{DatabaseFlag, LimitFlags, ScopeFlags, SweepFlags};
use sweep::exit::Exit;
use sweep::rules::Id;
use sweep::settings::{Environment, Settings};
use sweep::sweep::signals::Stop;

use crate::json;
use crate::world::World;

/// What one sweep said.
#[derive(Debug)]
pub struct Swept {
    pub exit: Exit,
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

impl World {
    /// Without the guard and with wide limits, which would be in the way of all tests but those about them.
    pub fn settings(&self) -> Settings {
        let limits = LimitFlags { no_guard: true, wakes_per_agent_max: Some(1_000_000), ..LimitFlags::default() };
        let database = DatabaseFlag { database: Some(self.url.clone()), ..DatabaseFlag::default() };
        let flags = SweepFlags {
            scope: ScopeFlags { database, limits, ..ScopeFlags::default() },
            output: Some(sweep::cli::Format::Json),
            ..SweepFlags::default()
        };
        Settings::resolve(flags, &Environment::of(&[])).expect("settings")
    }

    pub fn sweep(&self) -> Swept {
        self.sweep_as(&self.settings())
    }

    pub fn sweep_as(&self, settings: &Settings) -> Swept {
        sweep_once(settings)
    }

    pub fn dry_run(&self) -> Swept {
        self.sweep_as(&Settings { dry_run: true, ..self.settings() })
    }
}

/// One sweep in this process.
pub fn sweep_once(settings: &Settings) -> Swept {
    let mut out = Vec::new();
    let exit = sweep::sweep::run(settings, &Stop::default(), &mut out).unwrap_or_else(|error| panic!("{error:#}")).exit;
    Swept { exit, json: json::read(&String::from_utf8(out).expect("UTF-8")) }
}
