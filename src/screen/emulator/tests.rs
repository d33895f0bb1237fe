//! What a terminal would show, where the parser does otherwise.

use super::*;

/// A panic would end the thread that passes the agent's output on.
#[test]
fn a_sequence_at_which_the_emulator_panics_leaves_an_empty_screen() {
    let mut emulator = Emulator::new((24, 1));
    emulator.process("\u{26a0}\u{fe0f}".as_bytes(), Instant::now());
    assert_eq!(emulator.look(None, Instant::now()).lines(), Vec::<String>::new());
    emulator.process(b"a", Instant::now());
    let look = emulator.look(None, Instant::now());
    assert!(look.is_misread && look.lines() == ["a"]);
}

#[test]
fn no_size_and_no_bytes_stop_it() {
    let mut random = fastrand::Rng::with_seed(12);
    let parts = "\u{26a0}\u{fe0f}|漢字|e\u{301}|\x1b[2J|\x1b[3;9H|\r\n|\x1b[L|\x1b[4P|\t|\x1b[?1049h|\x1b[?1049l|text ";
    let parts: Vec<&str> = parts.split('|').collect();
    for _ in 0..200 {
        let mut emulator = Emulator::new((random.u16(0..30), random.u16(0..90)));
        for _ in 0..60 {
            (0..20).for_each(|_| emulator.process(parts[random.usize(0..parts.len())].as_bytes(), Instant::now()));
            emulator.resize((random.u16(0..30), random.u16(0..90)));
            emulator.look(None, Instant::now());
        }
    }
}

fn shown(bytes: &[u8]) -> (Vec<String>, bool) {
    let mut emulator = Emulator::new((24, 10));
    emulator.process(bytes, Instant::now());
    let look = emulator.look(None, Instant::now());
    (look.lines(), look.is_misread)
}

/// Whoever writes the last cell of a row stays on it, and goes up from there.
#[test]
fn a_cursor_that_leaves_a_full_row_does_not_stand_beyond_its_end() {
    for up in ["\x1b[A", "\x1b[1d", "\x1b[1;10H"] {
        let (lines, is_misread) = shown(format!("one\r\n0123456789{up}x").as_bytes());
        assert_eq!((lines, is_misread), (vec!["one      x".to_owned(), "0123456789".to_owned()], false), "{up:?}");
    }
}

#[test]
fn text_behind_a_full_row_is_misread_where_terminals_differ_about_its_place() {
    for control in ["\x08", "\x1b[D", "\x1b[K", "\x1b[J", "\x1b[L", "\x1b[P", "\n"] {
        let is_misread = |end: &str| shown(format!("0123456789{control}{end}").as_bytes()).1;
        assert!(is_misread("x"), "{control:?}");
        assert!(!is_misread("\r\nx") && !is_misread("\x1b[3;1Hx"), "negative control: {control:?}");
        assert!(!shown(format!("012345678{control}x").as_bytes()).1, "negative control: {control:?}");
    }
}
