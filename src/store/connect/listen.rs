//! Hearing at once of runs that have ended: LISTEN on a connection of its own (PostgreSQL), or a look at the file a few
//! times a second (SQLite).
//!
//! Nothing depends on it. What is not heard, since the connection was lost or a pooler swallowed it, the next sweep
//! finds.

mod file;

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, bail, ensure};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use uuid::Uuid;

use crate::conclusion::{config, unavailable};
use crate::rules::Id;
use crate::store::connect::open::{Url, refuse_at_first_look};
use crate::store::db::schema::host_behavior;
use crate::store::db::types::IdType;
use crate::store::hosts::folders::Host;
use crate::store::hosts::{catalog, migrate};
use crate::store::{Access, Db, DbConnection, Timeouts};
use file::FileListener;

/// How long the first notification may take: behind a transaction pooler it never comes.
const PROBE_MAX: Duration = Duration::from_secs(2);
/// More notifications in one look are left to the schedule, as any role of the database may notify.
pub const HEARD_MAX: usize = 1000;
/// Between two looks at what has arrived: a look is one read of a socket, no query.
const PAUSE: Duration = Duration::from_millis(50);

/// Does a daemon listen?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum ListenMode {
    /// Where the host notifies, and its notifications arrive; elsewhere the schedule is enough.
    #[default]
    Auto,
    /// Somebody relies on it.
    On,
    Off,
}

/// What is listened to.
#[derive(Clone, PartialEq)]
pub struct Source {
    pub database: Url,
    /// The connection that listens, if it is not the sweeps': past a pooler.
    pub connection: Option<Url>,
    pub listening: ListenMode,
}

impl Source {
    /// Refuses a connection of its own that leads to another database.
    pub fn refuse_another(&self) -> Result<()> {
        let Some(connection) = &self.connection else { return Ok(()) };
        let (swept, heard) = (identity(&self.database)?, identity(connection).context("SWEEP_LISTEN_URL")?);
        let expected = "expected the same, past its pooler";
        ensure!(
            swept == heard,
            config(format!("SWEEP_LISTEN_URL leads to the database {heard}, and the sweeps' is {swept}: {expected}"))
        );
        Ok(())
    }
}

fn identity(url: &Url) -> Result<String> {
    let asked = url.connect(Access::ReadOnly)?.look(|db| {
        refuse_at_first_look(db, Access::ReadOnly)?;
        Ok(db.identity()?)
    });
    asked.map_err(|error| url.explain(error))
}

/// What hears of runs that end.
pub enum Listener {
    Server(ServerListener),
    File(FileListener),
}

impl Listener {
    /// Makes sure that the host says when a run has ended, and that this arrives.
    pub fn open(source: &Source) -> Result<Listener> {
        match &source.database {
            Url::Postgres(..) => ServerListener::open(source).map(Listener::Server),
            Url::Sqlite(path) => FileListener::open(&source.database, path, refuse_silence).map(Listener::File),
        }
    }

    /// The issues and steps of which a run has ended, once there are any, or after `patience`. Fails when the
    /// connection is lost.
    pub fn wait(&mut self, patience: Duration) -> Result<BTreeSet<Id>> {
        let began = Instant::now();
        loop {
            let (ended, pause) = match self {
                Listener::Server(server) => (server.look()?, PAUSE),
                Listener::File(file) => (file.look(HEARD_MAX as i64)?, file::PAUSE),
            };
            if !ended.is_empty() || patience < began.elapsed() {
                return Ok(ended.into_iter().collect());
            }
            sleep(pause);
        }
    }
}

/// A connection to a server that listens.
pub struct ServerListener {
    db: DbConnection,
    ids: IdType,
}

impl ServerListener {
    /// Connects, and makes sure that the host notifies, and that notifications arrive.
    fn open(source: &Source) -> Result<ServerListener> {
        source.refuse_another()?;
        let Source { database, connection, .. } = source;
        let url = connection.as_ref().unwrap_or(database);
        let mut db = url.connect(Access::ReadOnly)?;
        let ids = db.look(|db| {
            let set_up = refuse_at_first_look(db, Access::ReadOnly)?;
            let (host, _) = migrate::check(db, set_up)?;
            refuse_silence(db, &host)?;
            Ok(IdType::of(db)?)
        });
        let ids = ids.map_err(|error| url.explain(error))?;
        let probe = Uuid::now_v7().simple();
        run(&mut db, &format!("LISTEN sweep_run_ended; LISTEN sweep_{probe}"))?;
        // From a connection like those of sweeps: its own words a pooler would pass on.
        run(&mut database.connect(Access::ReadOnly)?, &format!("NOTIFY sweep_{probe}"))?;
        let mut listener = ServerListener { db, ids };
        let began = Instant::now();
        while !listener.arrived()?.iter().any(|(channel, _)| *channel == format!("sweep_{probe}")) {
            if PROBE_MAX < began.elapsed() {
                // The pooler's connection to the server lives on, and would listen for ever.
                run(&mut listener.db, "UNLISTEN *")?;
                bail!(config(
                    "no notification arrives on this connection: through a transaction pooler none does, \
                     listening needs a connection of its own to the server, by SWEEP_LISTEN_URL",
                ));
            }
            sleep(PAUSE);
        }
        Ok(listener)
    }

    /// The issues and steps that were named since the last look. An id that is none comes from somebody else's NOTIFY.
    fn look(&mut self) -> Result<Vec<Id>> {
        Ok(self.arrived()?.iter().filter_map(|(_, payload)| self.ids.parse(payload)).collect())
    }

    /// What has arrived since the last look. Of a flood libpq keeps all that it has read, until the connection ends.
    fn arrived(&mut self) -> Result<Vec<(String, String)>> {
        let arrived = self.db.notifications(HEARD_MAX + 1).context("hearing of runs that end")?;
        let why = format!("more than {HEARD_MAX} notifications at once: they are not listened to");
        ensure!(arrived.len() <= HEARD_MAX, unavailable(why));
        Ok(arrived)
    }
}

/// How long the host of this database needs after the end of a run to say what follows.
pub fn run_end_grace(db: &mut DbConnection, timeouts: &Timeouts) -> Result<Duration> {
    let asked = db.in_transaction(Access::ReadOnly, timeouts, |db| {
        host_behavior::table.select(host_behavior::run_end_grace_seconds).first::<f64>(db)
    });
    let seconds = asked.map_err(Error::from).context("reading how long the host needs after the end of a run")?;
    Duration::try_from_secs_f64(seconds).context("the view host_behavior: run_end_grace_seconds")
}

fn run(db: &mut DbConnection, statements: &str) -> Result<()> {
    db.in_transaction(Access::Write, &Timeouts::default(), |db| db.batch_execute(statements))
        .map_err(Error::from)
        .context("listening for runs that end")
}

/// Refuses a database where nothing says that a run has ended. A host whose runs notify only after `sweep migrate
/// --with-listen` may not have been prepared so, and somebody may have disabled the trigger.
pub fn refuse_silence(db: &mut Db, host: &Host) -> Result<()> {
    const IS_NOTIFYING: &str = "EXISTS (SELECT 1 FROM pg_trigger WHERE tgenabled IN ('O', 'A') AND tgfoid = \
        to_regproc('sweep.notify_of_run_end'))";
    let (says_so, why) = match db {
        Db::Postgres(db) => (
            diesel::select(sql::<Bool>(IS_NOTIFYING)).get_result(db)?,
            match host.is_native() {
                true => "nothing notifies of runs that end: the trigger notify_of_run_end on runs is gone or disabled",
                false => "nothing notifies of runs that end: run `sweep migrate --with-listen`",
            },
        ),
        Db::Sqlite(_) => (
            catalog::exists(db, "run_ends")?,
            "nothing notes in the file that a run has ended: its host has no `run_ends`, see docs/host-reference.md",
        ),
    };
    ensure!(says_so, config(why));
    Ok(())
}
