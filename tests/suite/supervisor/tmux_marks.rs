//! The mark in tmux's status line: it says what is wrong in few words, and what was there before comes back.

use rustix::process::Signal;

use crate::support::tmux::Tmux;
use crate::support::wait::wait_for;
use crate::support::world::{On, World, on_each_database};

/// Two lines in turn: on a screen that is full of one line, nothing would move.
const LOOP: &str = "while :; do echo 'edit a.rs'; sleep 0.05; echo 'test failed'; sleep 0.05; done";

/// A pane in a window whose name does not change with what runs there.
fn running(script: &str) -> Tmux {
    let tmux = Tmux::running(script);
    tmux.ask(&["rename-window", "-t", "%1", "agent"]);
    tmux
}

/// Waits until the status line begins so, and returns it.
#[track_caller]
fn shows(tmux: &Tmux, pane: &str, mark: &str) -> String {
    wait_for(mark, || Some(tmux.status_line(pane)).filter(|line| line.starts_with(mark)))
}

/// How wide a mark is, as tmux counts columns.
fn columns(tmux: &Tmux, pane: &str) -> u32 {
    tmux.ask(&["display-message", "-p", "-t", pane, "#{w:@sweep_mark}"]).trim().parse().expect("a number")
}

on_each_database! {
    fn a_silent_agent_is_marked_with_how_long_it_is_silent_until_its_watcher_ends(world) {
        let tmux = running("echo working; cat");
        let screen = tmux.attach();
        let before = tmux.status_line("%1");
        let watcher = tmux.watch(world, &["--set", "nudges_max=0"]);
        let first = shows(&tmux, "%1", "⚠ silent ");
        assert!(first.ends_with(&format!("s {before}")), "{first}");
        wait_for("the status line", || screen.text().contains("⚠ silent ").then_some(()));
        wait_for("another time", || {
            Some(tmux.status_line("%1")).filter(|line| line.starts_with("⚠ silent ") && *line != first)
        });
        assert!((11..=20).contains(&columns(&tmux, "%1")));
        watcher.stop();
        assert_eq!((tmux.status_line("%1"), tmux.window_formats("%1")), (before, Default::default()));
        assert_eq!(tmux.ask(&["show-options", "-p", "-t", "%1"]).trim(), "");
    }

    fn a_loop_and_a_question_are_marked_as_such_and_only_as_long_as_they_last(world) {
        let tmux = running(LOOP);
        tmux.ask(&["split-window", "-d", "-t", "%1", "printf 'Remove everything? [y/N] '; read x; seq 1000; cat"]);
        let before = tmux.status_line("%1");
        let looping = tmux.watch(world, &[]);
        shows(&tmux, "%1", "⚠ loop ");
        let flags = ["--set", "session_waiting_after=1s", "--set", "session_silent_after=10m"];
        let asking = tmux.watch_pane(world, "%2", "asking", &flags);
        assert_eq!(shows(&tmux, "%1", "⚠ loop ⚠ asks you "), format!("⚠ loop ⚠ asks you {before}"), "both of a window");
        assert_eq!((columns(&tmux, "%1"), columns(&tmux, "%2")), (6, 10));

        tmux.ask(&["send-keys", "-t", "%2", "y", "Enter"]);
        wait_for("an answer", || (tmux.status_line("%1") == format!("⚠ loop {before}")).then_some(()));
        looping.stop();
        assert_eq!((tmux.status_line("%1"), tmux.window_formats("%1")), (before, Default::default()));
        asking.stop();
    }
}

/// P18: a window for each of these formats, all of them marked at once.
#[test]
fn whatever_a_person_has_set_is_there_again_to_the_letter() {
    let world = World::new(On::Sqlite);
    let tmux = running("exec sleep 1000");
    tmux.ask(&["set-option", "-g", "window-status-current-format", "#I #W everybody's;"]);
    let own = [
        "", " ", "#I:#W;", "-t x", "#{?,copied 3,}abc", "⚠ mine ", "'#[fg=red]#W\" $HOME \\; \\", "#{P:#{@sweep_mark}}",
    ];
    let mut watchers = Vec::new();
    for (number, format) in own.iter().enumerate() {
        let pane = tmux.ask(&["new-window", "-d", "-P", "-F", "#{pane_id}", "-n", "##(touch ran)##{@x},}", LOOP]);
        let pane = pane.trim().to_owned();
        let escaped = format.strip_suffix(';').map_or((*format).to_owned(), |format| format!("{format}\\;"));
        tmux.ask(&["set-option", "-w", "-t", &pane, "window-status-format", &escaped]);
        let before = tmux.window_formats(&pane);
        assert_eq!(before, [format!("{format}\n"), String::new()], "one of its own, and one of everybody's");
        watchers.push((tmux.watch_pane(&world, &pane, &format!("agent-{number}"), &[]), pane, before));
    }
    for (_, pane, _) in &watchers {
        shows(&tmux, pane, "⚠ loop ");
    }
    for (watcher, pane, before) in watchers {
        watcher.stop();
        assert_eq!(tmux.window_formats(&pane), before);
        let name = tmux.ask(&["display-message", "-p", "-t", &pane, "#W"]);
        assert_eq!(name.trim_end_matches('\n'), "#(touch ran)#{@x},}");
    }
    assert!(tmux.has_no_trace_of_a_shell());
}

/// P18, negative control.
#[test]
fn a_mark_that_a_script_sets_and_unsets_loses_what_was_there() {
    let tmux = running("exec sleep 1000");
    let set = |words: &[&str]| tmux.ask(&[&["set-option", "-w", "-t", "%1"], words].concat());
    set(&["window-status-format", "#W mine"]);
    let before = tmux.window_formats("%1");
    set(&["window-status-format", "⚠ #W mine"]);
    set(&["-u", "window-status-format"]);
    assert_ne!(tmux.window_formats("%1"), before);
}

/// P18
#[test]
fn what_a_person_sets_while_a_window_is_marked_stays() {
    let world = World::new(On::Sqlite);
    let tmux = running(LOOP);
    let watcher = tmux.watch(&world, &[]);
    shows(&tmux, "%1", "⚠ loop ");
    tmux.ask(&["set-option", "-w", "-t", "%1", "window-status-format", "#W mine"]);
    tmux.ask(&["set-option", "-w", "-a", "-t", "%1", "window-status-current-format", " and mine"]);
    let copied = tmux.ask(&["show-options", "-g", "-w", "-v", "window-status-current-format"]);
    watcher.stop();
    let expected = ["#W mine\n".to_owned(), format!("{} and mine\n", copied.trim_end_matches('\n'))];
    assert_eq!(tmux.window_formats("%1"), expected);
}

/// In another window, and then in none.
#[test]
fn a_pane_that_is_moved_or_closed_leaves_no_mark_behind() {
    let world = World::new(On::Sqlite);
    let tmux = running(LOOP);
    tmux.ask(&["split-window", "-d", "-t", "%1", "exec sleep 1000"]);
    let watcher = tmux.watch(&world, &[]);
    shows(&tmux, "%2", "⚠ loop ");
    tmux.ask(&["join-pane", "-d", "-s", "%1", "-t", "%0"]);
    assert!(!tmux.status_line("%2").contains('⚠'));
    shows(&tmux, "%0", "⚠ loop ");
    wait_for("the window that it left", || (tmux.window_formats("%2") == ["", ""]).then_some(()));
    tmux.ask(&["kill-pane", "-t", "%1"]);
    watcher.end();
    assert_eq!(tmux.window_formats("%0"), ["", ""]);
}

/// P18
#[test]
fn the_mark_of_a_watcher_that_is_killed_is_removed_by_tmux_and_all_of_it_by_the_next_watcher() {
    let world = World::new(On::Sqlite);
    let tmux = running(LOOP);
    let before = tmux.status_line("%1");
    let watcher = tmux.watch(&world, &[]);
    shows(&tmux, "%1", "⚠ loop ");
    watcher.signal(Signal::KILL);
    wait_for("no mark", || (tmux.status_line("%1") == before).then_some(()));
    assert!(tmux.window_formats("%1").iter().all(|format| format.contains("@sweep_mark")), "shown as nothing");

    let next = tmux.watch_pane(&world, "%1", "next", &["--no-examine"]);
    wait_for("what was there before", || (tmux.window_formats("%1") == ["", ""]).then_some(()));
    next.stop();
}
