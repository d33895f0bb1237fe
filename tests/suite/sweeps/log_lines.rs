//! What a program finds in the logs: each line of JSON has what it is about as fields, and a dry run says that it is
//! one.

use serde_json::Value;

use crate::support::program::{BINARY, Program, sweep_at};
use crate::support::world::on_each_host;

on_each_host! {
    fn in_json_a_line_says_which_sweep_it_is_and_what_was_decided_about_which_subject(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let ran = sweep_at(&world.url, []).env("SWEEP_LOG_FORMAT", "json").run().done();
        let lines: Vec<Value> = ran.err.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let of_issue = lines.iter().find(|line| line["id"] == issue.0).expect("a line of the issue");
        let of_sweep = lines.last().expect("a line of the sweep");
        for (field, value) in
            [("kind", "issue"), ("finding", "orphaned"), ("decision", "continue"), ("outcome", "continued"),
                ("mode", "sweep")]
        {
            assert_eq!(of_issue[field], value, "{of_issue}");
        }
        assert_eq!((&of_sweep["message"], &of_sweep["exit"]), (&"sweep completed".into(), &0.into()), "{of_sweep}");
        let id = world.text("id", "sweeps").expect("a sweep");
        let host = if world.on == crate::support::world::On::Paperclip { "paperclip" } else { "native" };
        for line in [of_issue, of_sweep] {
            assert_eq!((&line["sweep"], &line["host"]), (&id.clone().into(), &host.into()), "{line}");
        }
    }

    fn where_the_report_and_the_log_are_one_stream_each_subject_is_printed_once(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.set("issues", &issue, "identifier = 'ACM-12'");
        let print = |redirect: &str, log: &str| {
            let mut shell = std::process::Command::new("/bin/sh");
            shell.args(["-c", &format!("\"$0\" \"$@\" {redirect}"), BINARY, "--dry-run", "--database", &world.url]);
            let ran = Program::from_command(shell).env("SWEEP_LOG", log).run().done();
            (ran.out.matches("ACM-12").count(), ran.err.matches("ACM-12").count())
        };
        assert_eq!(print("2>&1", ""), (1, 0));
        assert_eq!(print("", ""), (1, 1), "in streams of their own each is whole");
        assert_eq!(print(">/dev/null", ""), (0, 1));
        assert_eq!(print("2>&1", "info"), (2, 0), "as it is asked for");
    }

    fn a_dry_run_says_that_nothing_was_written(world) {
        let agent = world.agent("idle");
        world.orphan(&agent);
        let ran = sweep_at(&world.url, ["--dry-run"]).run().done();
        assert!(ran.err.contains(" would be continued: nobody is working on it kind=issue id="), "{ran}");
        assert!(ran.err.contains("INFO dry run, nothing was written: completed ended=\"completed\""), "{ran}");
        assert!(!ran.err.contains("sweep completed") && !ran.err.contains("outcome="), "{ran}");
    }
}
