//! A terminal as agents set it, for the tests of what is typed into it.

use rustix::termios::{OptionalActions, tcsetattr};

use super::*;

/// A program in a terminal whose mode is that of an agent; the terminal is open until the tests end.
pub fn in_raw_mode(command: &str) -> TerminalProbe {
    let pair = portable_pty::native_pty_system().openpty(portable_pty::PtySize::default()).expect("a terminal");
    let probe = TerminalProbe { terminal: pair.master.tty_name(), command: vec![command.into()], process: None };
    let terminal = open(probe.terminal.as_ref().expect("a terminal")).expect("a terminal");
    let mut mode = tcgetattr(&terminal).expect("a mode");
    mode.make_raw();
    tcsetattr(&terminal, OptionalActions::Now, &mode).expect("a mode");
    std::mem::forget(pair);
    probe
}
