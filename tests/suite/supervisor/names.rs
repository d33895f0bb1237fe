//! What a session is called that is given no name, and when it is taken up.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::program::BINARY;
use crate::support::wait::wait_for;
use crate::support::world::{World, on_each_database};

/// A watcher without a name, in this directory.
fn watch(world: &World, directory: &Path, flags: &[&str], command: &[&str]) -> Child {
    fs::create_dir_all(directory).expect("a directory");
    let mut watcher = Command::new(BINARY);
    watcher.args(["watch", "--database", &world.url, "--set", "nudge_delay=10s"]).args(flags).arg("--").args(command);
    watcher.current_dir(directory).env("HOME", directory).stdin(Stdio::null()).stdout(Stdio::null());
    watcher.spawn().expect("sweep")
}

fn names(world: &mut World) -> Vec<String> {
    world.texts("identifier", "sessions order by created_at").into_iter().flatten().collect()
}

on_each_database! {
    fn sessions_without_a_name_are_called_after_their_directory_and_say_where_they_run(world) {
        let home = tempfile::tempdir().expect("a home");
        let api = home.path().join("api");
        let mut watchers = ["api", "api-2"].map(|name| {
            let watcher = watch(world, &api, &[], &["sleep", "100"]);
            wait_for(name, || names(world).contains(&name.to_owned()).then_some(()));
            watcher
        });
        let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
        let host = host.trim();
        let titles = world.texts("title", "sessions");
        let title = format!("sleep 100, in {} on {host}", api.canonicalize().expect("a path").display());
        assert_eq!(titles, [Some(title.clone()), Some(title)]);
        for watcher in &mut watchers {
            watcher.kill().expect("a watcher");
            watcher.wait().expect("an end");
        }

        fs::write(home.path().join("claude"), "exit 0").expect("a file");
        let script = home.path().join("claude").display().to_string();
        let long_ago = world.ago(1);
        world.run(&format!("update sessions set updated_at = {long_ago}"));
        watch(world, &api, &[], &["sh", &script]).wait().expect("an end");
        let title = world.text("title", "sessions where identifier = 'api'").expect("a title");
        assert!(title.contains(", Claude Code in "), "{title}");
        assert_eq!(names(world), ["api", "api-2"], "the first was taken up, since nobody keeps it any more");
    }

    fn a_session_of_another_place_or_tenant_is_not_taken_up_for_its_name(world) {
        let home = tempfile::tempdir().expect("a home");
        let run = |directory: &str, flags: &[&str]| {
            watch(world, &home.path().join(directory), flags, &["true"]).wait().expect("an end");
        };
        run("one/api", &[]);
        run("other/api", &[]);
        run("one/api", &["--tenant", "acme"]);
        run("one/api", &[]);
        run("other/api", &[]);
        assert_eq!(names(world), ["api", "api-2", "api-3"]);
    }

    /// Else an escalation is written on the issue of an earlier session.
    fn the_issue_and_the_threshold_of_the_session_before_are_not_those_of_the_next(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let home = tempfile::tempdir().expect("a home");
        let flags = ["--issue", &issue.0, "--agent", &agent.0, "--silent-after", "90s"];
        watch(world, home.path(), &flags, &["true"]).wait().expect("an end");
        assert_eq!(world.count("sessions where issue_id is not null"), 1);
        watch(world, home.path(), &[], &["true"]).wait().expect("an end");
        let nothing = "issue_id is null and agent_id is null and silent_after_seconds is null";
        assert_eq!((world.count("sessions"), world.count(&format!("sessions where {nothing}"))), (1, 1));
    }

    fn watchers_that_begin_at_once_get_a_name_each(world) {
        let home = tempfile::tempdir().expect("a home");
        let api = home.path().join("api");
        let mut watchers: Vec<Child> = (0..6).map(|_| watch(world, &api, &[], &["sleep", "100"])).collect();
        wait_for("six sessions", || (names(world).len() == 6).then_some(()));
        for watcher in &mut watchers {
            watcher.kill().expect("a watcher");
            watcher.wait().expect("an end");
        }
        let mut names = names(world);
        names.sort();
        assert_eq!(names, ["api", "api-2", "api-3", "api-4", "api-5", "api-6"]);
    }
}
