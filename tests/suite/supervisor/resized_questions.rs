//! A question that a resize of the window paints anew is the same question: no news, and no recovery.

use std::thread;
use std::time::Duration;

use super::nudge_fence::agent;
use crate::support::tmux::Tmux;
use crate::support::watcher::{STUCK, Watcher};
use crate::support::world::{On, World};

const SIZES: [(u16, u16); 4] = [(24, 60), (18, 34), (30, 100), (20, 48)];

/// Claude Code's permission menu, cut off at the edge; it is painted anew a while after each resize.
const MENU: &str = r#"draw() {
    set -- $(stty size)
    printf '\033[H\033[2J'; sleep 0.3 < /dev/null
    cut -c "1-$2" <<END
────────────────
 Bash command

   rm -rf ./a/very/long/path/of/an/important/folder/of/the/shop/in/use

 Do you want to proceed?
 ❯ 1. Yes
   2. No

 Esc to cancel
END
}
stty -echo -icanon; trap draw WINCH; draw; while :; do sleep 0.1 < /dev/null; done"#;

fn is_still_reported_once(world: &mut World, watcher: Watcher, resize: impl Fn(u16, u16)) {
    world.until_recovered("escalate");
    for (rows, columns) in SIZES.repeat(2) {
        resize(rows, columns);
        thread::sleep(Duration::from_millis(700));
    }
    // What a resize makes of the question is believed after five seconds.
    thread::sleep(Duration::from_secs(7));
    assert_eq!((world.recovered("escalate"), world.recovered("recover")), (1, 0));
    assert_eq!(world.of_agent("agent_state").as_deref(), Some("waiting"));
    let ended = watcher.stop();
    assert_eq!(ended.text.matches(STUCK).count(), 1, "{}", ended.text);
}

#[test]
fn a_question_in_a_window_that_is_resized_is_reported_once() {
    let mut world = World::new(On::Sqlite);
    let watcher = agent(&world, "claude", MENU);
    let terminal = watcher.screen.master.tty_name().expect("a terminal");
    is_still_reported_once(&mut world, watcher, |rows, columns| {
        let terminal = std::fs::File::open(&terminal).expect("a terminal");
        let size = rustix::termios::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(terminal, size).expect("a size");
    });
}

#[test]
fn a_question_in_a_pane_that_is_resized_is_reported_once() {
    let mut world = World::new(On::Sqlite);
    let tmux = Tmux::running("sleep 1000");
    std::fs::write(tmux.home.path().join("claude"), MENU).expect("a file");
    tmux.ask(&["respawn-pane", "-k", "-t", "%1", "bash claude"]);
    let watcher = tmux.watch(&world, &["--set", "session_silent_after=10m", "--set", "session_waiting_after=1s"]);
    let size = |number: u16| number.to_string();
    is_still_reported_once(&mut world, watcher, |rows, columns| {
        tmux.ask(&["resize-window", "-t", "%1", "-x", &size(columns), "-y", &size(rows)]);
    });
}
