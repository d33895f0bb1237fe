//! P13: a commit whose answer is lost is settled by the ledger or reported as unknown, never as success.
//!
//! A proxy stands between the sweep and the server; both speak over a Unix socket, without TLS.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use sweep::rules::Id;
use sweep::sweep::Cancel;

use crate::support::databases::server_socket;
use crate::support::in_process::{Swept, sweep_once};
use crate::support::program::{Ran, command_at};
use crate::support::world::{On, World};

/// When the proxy cuts a connection: at the COMMIT of a recovery, or at the end of a dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    BeforeTheServerHasIt,
    AfterTheServerAnswered,
    /// Answers like a pooler that lost the server: the client's connection lives on, and its next message is answered.
    AnsweredByAPooler,
    /// Cuts at the ROLLBACK after the facts, where nothing is committed.
    AtTheEndOfADryRun,
}

struct Proxy {
    directory: tempfile::TempDir,
    plan: Arc<Plan>,
}

/// Cuts the first connection that commits a recovery, and then accepts `accepted_after` more connections.
struct Plan {
    cut: Cut,
    done: AtomicBool,
    accepted_after: AtomicUsize,
    /// The number of messages that lock rows.
    locks: AtomicUsize,
}

impl Proxy {
    fn start(cut: Cut, accepted_after: usize) -> Proxy {
        let (server, port) = server_socket();
        let server = format!("{server}/.s.PGSQL.{port}");
        let directory = tempfile::tempdir().expect("a directory");
        let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).expect("a socket");
        let (done, accepted_after) = (AtomicBool::new(false), AtomicUsize::new(accepted_after));
        let ours = Arc::new(Plan { cut, done, accepted_after, locks: AtomicUsize::new(0) });
        let plan = Arc::clone(&ours);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if plan.done.load(Ordering::SeqCst) {
                    let take_one = |left: usize| left.checked_sub(1);
                    if plan.accepted_after.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take_one).is_err() {
                        continue;
                    }
                }
                let server = UnixStream::connect(&server).expect("the server");
                let plan = Arc::clone(&plan);
                thread::spawn(move || relay(client, server, &plan));
            }
        });
        Proxy { directory, plan: ours }
    }

    fn url(&self, world: &World) -> String {
        format!(
            "postgres://postgres@/{}?host={}&port=5432",
            world.name(),
            self.directory.path().display().to_string().replace('/', "%2F")
        )
    }
}

/// Passes messages both ways until the COMMIT that is to be cut.
fn relay(mut client: UnixStream, mut server: UnixStream, plan: &Plan) {
    let mut answers = server.try_clone().expect("a socket");
    let mut to_client = client.try_clone().expect("a socket");
    let muted = Arc::new(AtomicBool::new(false));
    let (silent, cut) = (Arc::clone(&muted), plan.cut);
    let back = thread::spawn(move || {
        let mut buffer = [0; 65536];
        while let Ok(n @ 1..) = answers.read(&mut buffer) {
            // The answer to the COMMIT reaches the proxy, and goes no further.
            if silent.load(Ordering::SeqCst) && cut == Cut::AnsweredByAPooler {
                return;
            }
            if silent.load(Ordering::SeqCst) || to_client.write_all(&buffer[..n]).is_err() {
                break;
            }
        }
        let _ = to_client.shutdown(std::net::Shutdown::Both);
    });
    let (mut buffer, mut has_written, mut has_read) = ([0; 65536], false, false);
    while let Ok(n @ 1..) = client.read(&mut buffer) {
        let message = &buffer[..n];
        let contains = |word: &[u8]| message.windows(word.len()).any(|window| window == word);
        has_written |= contains(b"INSERT INTO \"recoveries\"")
            || contains(b"INSERT INTO \"exemptions\"")
            || contains(b"DELETE FROM \"exemptions\"");
        has_read |= contains(b"FROM issue_decided_facts WHERE");
        plan.locks.fetch_add(usize::from(contains(b"FOR UPDATE")), Ordering::SeqCst);
        let ends = match plan.cut {
            Cut::BeforeTheServerHasIt | Cut::AfterTheServerAnswered | Cut::AnsweredByAPooler => {
                contains(b"COMMIT") && has_written
            }
            Cut::AtTheEndOfADryRun => contains(b"ROLLBACK") && has_read,
        };
        if ends && !plan.done.swap(true, Ordering::SeqCst) {
            muted.store(true, Ordering::SeqCst);
            if matches!(plan.cut, Cut::AfterTheServerAnswered | Cut::AnsweredByAPooler) {
                let _ = server.write_all(message);
                let _ = back.join();
            }
            if plan.cut == Cut::AnsweredByAPooler {
                answer_as_a_pooler(&mut client);
            }
            let _ = (client.shutdown(std::net::Shutdown::Both), server.shutdown(std::net::Shutdown::Both));
            return;
        }
        if server.write_all(message).is_err() {
            return;
        }
    }
    let _ = server.shutdown(std::net::Shutdown::Both);
}

/// Sends an error in place of the COMMIT's answer, and then the ROLLBACK's answer.
fn answer_as_a_pooler(client: &mut UnixStream) {
    const ERROR: &[u8] = b"SERROR\0C08006\0Mthe server's connection was lost\0\0";
    const IDLE: &[u8] = b"Z\0\0\0\x05I";
    for (kind, body) in [(b'E', ERROR), (b'C', b"ROLLBACK\0")] {
        let length = (body.len() as u32 + 4).to_be_bytes();
        client.write_all(&[&[kind], &length[..], body, IDLE].concat()).expect("a client");
        let _ = client.read(&mut [0; 65536]);
    }
}

/// Sweeps one orphan through the proxy with one worker.
fn sweep_through(world: &mut World, cut: Cut, accepted_after: usize) -> (Id, Result<Swept, String>) {
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let proxy = Proxy::start(cut, accepted_after);
    let mut settings = world.options();
    settings.connections = 1;
    settings.database = sweep::store::connect::open::Url::parse(&proxy.url(world)).expect("a URL");
    (
        issue,
        std::panic::catch_unwind(|| sweep_once(&settings))
            .map_err(|panic| *panic.downcast::<String>().expect("a message")),
    )
}

#[test]
fn a_commit_that_reached_the_server_is_confirmed_by_the_ledger() {
    let mut world = World::new(On::Postgres);
    let (issue, swept) = sweep_through(&mut world, Cut::AfterTheServerAnswered, 1);
    let swept = swept.expect("a sweep");

    assert_eq!(swept.outcome(&issue), "continued");
    assert_eq!(swept.subject(&issue)["reason"], "its commit was confirmed by the ledger");
    assert_eq!(world.wakes_for(&issue), 1);
}

#[test]
fn a_commit_that_never_reached_the_server_is_reported_as_failed_and_done_by_the_next_sweep() {
    let mut world = World::new(On::Postgres);
    let (issue, swept) = sweep_through(&mut world, Cut::BeforeTheServerHasIt, 1);
    let swept = swept.expect("a sweep");

    assert_eq!((swept.outcome(&issue), swept.exit), ("failed", sweep::conclusion::Conclusion::SomeFailed));
    assert_eq!(world.wakes_for(&issue), 0);
    assert_eq!(world.sweep().outcome(&issue), "continued");
}

#[test]
fn a_wake_whose_commit_never_reached_the_server_is_none_of_its_agents_wakes() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    world.orphans(&agent, 0..3);
    let proxy = Proxy::start(Cut::BeforeTheServerHasIt, 1);
    let mut settings = world.options();
    (settings.connections, settings.wakes_per_agent_max) = (1, 1);
    settings.database = sweep::store::connect::open::Url::parse(&proxy.url(&world)).expect("a URL");

    let swept = sweep_once(&settings);

    let outcomes = [2, 1, 0].map(|n| swept.outcome(&crate::support::world::many::numbered(n)).to_owned());
    assert_eq!(outcomes, ["failed", "continued", "deferred"]);
}

/// The ROLLBACK that follows is answered, which says nothing about the COMMIT.
#[test]
fn a_commit_that_a_pooler_answered_with_an_error_is_settled_by_the_ledger() {
    let mut world = World::new(On::Postgres);
    let (issue, swept) = sweep_through(&mut world, Cut::AnsweredByAPooler, 1);
    let swept = swept.expect("a sweep");

    assert_eq!(swept.outcome(&issue), "continued", "{}", swept.json);
    assert_eq!(swept.subject(&issue)["reason"], "its commit was confirmed by the ledger");
    assert_eq!(world.wakes_for(&issue), 1);
}

/// The client sees the same whether the server committed or not, so it may guess neither.
#[test]
fn a_commit_about_which_nobody_can_be_asked_is_unknown_whichever_way_it_went() {
    for (cut, wakes) in [(Cut::AfterTheServerAnswered, 1), (Cut::BeforeTheServerHasIt, 0)] {
        let mut world = World::new(On::Postgres);
        let (issue, swept) = sweep_through(&mut world, cut, 0);
        let reported = swept.map(|swept| swept.json.to_string()).unwrap_or_else(|error| error);

        assert!(reported.contains("the sweep could not go on"), "{reported}");
        assert_eq!(world.wakes_for(&issue), wakes);
        assert_eq!(world.count("sweeps where ended = 'failed' and cast(counts as text) like '%\"unknown\": 1%'"), 1);
        let next = world.sweep();
        assert_eq!(world.wakes_for(&issue), 1, "the next sweep finishes the job: {}", next.json);
    }
}

/// Asks for a wake through the proxy, as a person.
fn wake_through(world: &mut World, cut: Cut, accepted_after: usize) -> (Id, Ran) {
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let proxy = Proxy::start(cut, accepted_after);
    let woken = command_at(&proxy.url(world), ["wake", &issue.0, "--as", "ada"]).run();
    (issue, woken)
}

#[test]
fn what_a_person_asked_for_is_settled_by_the_ledger_as_well() {
    for (cut, wakes) in [(Cut::AfterTheServerAnswered, 1), (Cut::AnsweredByAPooler, 1), (Cut::BeforeTheServerHasIt, 0)]
    {
        let mut world = World::new(On::Postgres);
        let (issue, woken) = wake_through(&mut world, cut, 1);
        assert_eq!(world.wakes_for(&issue), wakes);
        match wakes {
            1 => assert!(woken.done().out.starts_with("A wake is queued"), "{cut:?}"),
            _ => woken.says_once(1, &["wake: not done with issue", "not committed: "]),
        }
    }
}

#[test]
fn what_a_person_asked_for_is_unknown_when_nobody_can_be_asked_whichever_way_it_went() {
    for (cut, wakes) in [(Cut::AfterTheServerAnswered, 1), (Cut::BeforeTheServerHasIt, 0)] {
        let mut world = World::new(On::Postgres);
        let (issue, woken) = wake_through(&mut world, cut, 0);
        woken.says_once(69, &["wake: what became of it for issue", "is not known", "see sweep explain"]);
        assert_eq!(world.wakes_for(&issue), wakes);
    }
}

/// What leaves no row in the ledger. An exemption stands, and then it is removed.
#[test]
fn an_exemption_is_settled_by_the_number_of_its_transaction() {
    for (cut, stands) in [(Cut::AfterTheServerAnswered, 1), (Cut::AnsweredByAPooler, 1), (Cut::BeforeTheServerHasIt, 0)]
    {
        let mut world = World::new(On::Postgres);
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let through = |world: &World, asked: &[&str], accepted_after| {
            let proxy = Proxy::start(cut, accepted_after);
            command_at(&proxy.url(world), [&["exempt"], asked].concat()).run()
        };
        let (add, remove) = (["add", "issue", &issue.0, "--reason", "x"], ["remove", "issue", &issue.0]);

        let added = through(&world, &add, 1);
        assert_eq!(world.count("exemptions"), stands);
        match stands {
            1 => assert!(added.done().out.starts_with("Exempt: "), "{cut:?}"),
            _ => added.says_once(69, &[]),
        }
        if stands == 1 {
            assert!(through(&world, &remove, 1).done().out.starts_with("No longer exempt: "), "{cut:?}");
            assert_eq!(world.count("exemptions"), 0);
        }
        // The control: nobody can be asked.
        through(&world, &add, 0).says_once(69, &[]);
        assert_eq!(world.count("exemptions"), stands);
    }
}

/// P7
#[test]
fn a_dry_run_that_loses_its_connection_settles_nothing_and_locks_nothing() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    world.orphan(&agent);
    let proxy = Proxy::start(Cut::AtTheEndOfADryRun, 1);
    let mut settings = world.options();
    (settings.connections, settings.dry_run) = (1, true);
    settings.database = sweep::store::connect::open::Url::parse(&proxy.url(&world)).expect("a URL");

    let error = sweep::sweep::run(&settings, &Cancel::default(), &mut ()).expect_err("its only connection is gone");

    assert!(format!("{error:#}").starts_with("the sweep could not go on"), "{error:#}");
    assert!(proxy.plan.done.load(Ordering::SeqCst), "nothing was cut");
    assert_eq!(proxy.plan.locks.load(Ordering::SeqCst), 0);
}
