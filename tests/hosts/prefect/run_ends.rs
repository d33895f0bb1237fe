//! A daemon hears at once how a flow run that it had scheduled once more has ended: on PostgreSQL by the trigger of
//! `sweep migrate --with-listen`, in a file by a look at it. The server and the workers know nothing of it.

use std::fs::{self, File};
use std::process::{Child, Stdio};

use serde_json::json;

use super::server::Server;
use super::store::Store;
use crate::program::sweep;
use crate::{seconds, wait_for};

/// Ends with the test, also when that fails.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

fn listening(server: &Server) -> Daemon {
    let (url, path) = (server.store.url_of_sweep(), server.home().join("daemon.log"));
    let mut program = sweep(server.home());
    program.args(["daemon", "--schedule", "@yearly", "--http", "off", "--listen", "on", "--database", &url]);
    let daemon = Daemon(program.stderr(File::create(&path).expect("a log")).stdout(Stdio::null()).spawn().expect("it"));
    let says = || fs::read_to_string(&path).expect("a log").contains("listening for runs that end");
    wait_for("it listens", seconds(60), || says().then_some(()));
    daemon
}

pub fn however_a_continued_run_ends_that_is_noticed_at_once(server: &Server) {
    let deployment = server.make_deployment("ended");
    let runs = ["COMPLETED", "FAILED", "CRASHED", "CANCELLED"].map(|end| {
        let run = server.api.make_running_run(&deployment);
        server.make_older(&run, 70.0);
        assert_eq!(server.sweep(&run, &[])["outcome"], "continued");
        server.api.set_state(&run, &json!({"type": "RUNNING"}), true);
        (run, end)
    });
    let table = if matches!(server.store, Store::Postgres(_)) { "sweep.recoveries" } else { "sweep_recoveries" };
    let is_open = |run: &str| {
        let open = format!("select count(*) from {table} where subject_id = '{run}' and settled_at is null");
        server.store.text(&open).as_deref() == Some("1")
    };
    let _daemon = listening(server);
    for (run, end) in &runs {
        assert!(is_open(run), "before it is {end}");
        assert_eq!(server.api.set_state(run, &json!({"type": end}), true), "ACCEPT");
        wait_for("what is open is settled", seconds(60), || (!is_open(run)).then_some(()));
    }
}
