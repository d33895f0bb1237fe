//! Where the output of a crashed agent is kept, and what a log never does to what was there.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

use crate::support::program::{Program, sweep};
use crate::support::watcher::{Watcher, path};
use crate::support::world::on_each_database;

const USAGE: i32 = 64;

fn watch(url: &str, words: &[&str]) -> Program {
    sweep(["watch", "--database", url].into_iter().chain(words.iter().copied())).env("PATH", path())
}

on_each_database! {
    fn a_log_that_is_no_regular_file_is_refused_and_left_alone(world) {
        let directory = tempfile::tempdir().expect("a directory");
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("/dev/null", &link).expect("a link");
        for log in ["/dev/null", &link.display().to_string(), &directory.path().display().to_string()] {
            let ran = watch(&world.url, &["--log", log, "--", "true"]).run();
            ran.refused(USAGE, &["--log", log, "no regular file"]);
        }
        assert!(Path::new("/dev/null").metadata().expect("a device").file_type().is_char_device());
        assert!(link.is_symlink());
        assert_eq!(world.count("sessions"), 0);
    }

    fn a_session_that_is_taken_up_keeps_its_earlier_log(world) {
        let home = Arc::new(tempfile::tempdir().expect("a home"));
        let crash = |session: &[&str], word: &str| {
            let script = format!("echo {word}; exit 3");
            let words = [&["--database", &world.url], session, &["--", "sh", "-c", &script]].concat();
            assert_eq!(Watcher::at_home(Arc::clone(&home), &words).end().code, 3);
        };
        crash(&["--name", "agent"], "earlier");
        crash(&["--session", "agent"], "later");
        let logs = std::fs::read_dir(home.path().join(".local/share/sweep/sessions")).expect("a directory");
        let logs = logs.map(|log| std::fs::read_to_string(log.expect("a log").path()).expect("a log"));
        let mut logs: Vec<String> = logs.collect();
        logs.sort();
        assert_eq!(logs, ["earlier\n", "later\n"]);
    }
}
