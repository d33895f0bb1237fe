//! What a terminal would show, where the parser does otherwise.

use super::*;

/// A panic would end the thread that passes the agent's output on.
#[test]
fn a_sequence_at_which_the_emulator_panics_leaves_an_empty_screen() {
    let mut emulator = Emulator::new((24, 1));
    emulator.process("\u{26a0}\u{fe0f}".as_bytes(), Instant::now());
    assert_eq!(emulator.current_look(None, Instant::now()).lines(), Vec::<String>::new());
    emulator.process(b"a", Instant::now());
    let look = emulator.current_look(None, Instant::now());
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
            emulator.current_look(None, Instant::now());
        }
    }
}

fn shown(bytes: &[u8]) -> (Vec<String>, bool) {
    let mut emulator = Emulator::new((24, 10));
    emulator.process(bytes, Instant::now());
    let look = emulator.current_look(None, Instant::now());
    (look.lines(), look.is_misread)
}

/// The last cell of a row was written: the cursor stays on that, and goes up from there.
#[test]
fn a_cursor_that_leaves_a_full_row_does_not_stand_beyond_its_end() {
    for up in ["\x1b[A", "\x1b[1;10H"] {
        let (lines, is_misread) = shown(format!("one\r\n0123456789{up}x").as_bytes());
        assert_eq!((lines, is_misread), (vec!["one      x".to_owned(), "0123456789".to_owned()], false), "{up:?}");
    }
}

#[test]
fn text_behind_a_full_row_is_misread_where_terminals_differ_about_its_place() {
    for control in ["\x08", "\t", "\n", "\x1b[D", "\x1b[K", "\x1b[J", "\x1b[L", "\x1b[P", "\x1b[3d"] {
        let is_misread = |end: &str| shown(format!("0123456789{control}{end}").as_bytes()).1;
        assert!(is_misread("x"), "{control:?}");
        assert!(!is_misread("\r\nx") && !is_misread("\x1b[3;1Hx"), "negative control: {control:?}");
        assert!(!shown(format!("012345678{control}x").as_bytes()).1, "negative control: {control:?}");
    }
}

#[test]
fn sequences_that_terminals_ignore_are_ignored() {
    for ignored in ["\x1b[12;5r", "\x1b[24;30r", "\x1b[7;7r"] {
        assert_eq!(shown(format!("one{ignored}x").as_bytes()), (vec!["onex".to_owned()], false), "{ignored:?}");
    }
    assert_eq!(shown(b"one\x1b[2;5rx"), (vec!["xne".to_owned()], false), "negative control");
}

#[test]
fn the_cursor_stays_when_another_screen_is_shown() {
    assert_eq!(shown(b"one\r\ntwo\x1b[?1049hx").0, ["   x"]);
    assert_eq!(
        shown(b"one\r\ntwo\x1b[?1049h\x1b[9;9Hx\x1b[?1049l!"),
        (vec!["one".to_owned(), "two!".to_owned()], false)
    );
}

#[test]
fn what_terminals_take_in_different_ways_is_misread() {
    for odd in [
        "\x1b[3:4Hx",
        "\x1b[99999999Bx",
        "\x1b[1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1Hx",
        "\x1bPq\x1b[2Jx",
        "\x1b[?6hx",
        "\x1b[?7l01234567890",
        "01234567890\x08\x08x",
        "\x1b[?47h\x1b[?47lx",
        "x\x1b[3b",
        "\x1b[5;9r\x1b[1;1H\x1b[Bx",
        "0123456789\x1b[?1049hx",
        "0123456789\x1b7\x1b[1;1H\x1b8x",
        "\r\n0123456789\x1bMx",
        "\u{fffd}",
        // Pictures, what places the cursor again, other characters, and modes that are restored.
        "\x1bPq#0~~@@vv\x1b\\",
        "\x1bPpS(E)\x1b\\",
        "\x1bP1$t1;1;1;@;@;@;0;2;@;BBBB\x1b\\",
        "\x1b%@",
        "\x1b%G",
        "\x1b[?3l",
        "\x1b[?1049r",
        "\x1b[>1J",
        "\x1b]1337;UnicodeVersion=9\x07",
        "\x1b_Ga=T,f=24,s=1,v=1,c=20,r=6;AAAA\x1b\\",
        "\x1b_Ga=q,a=T;AAAA\x1b\\",
        "\x1b_Ga=q;AAAA\x1b[H",
        "\x1b_Ga=q;AAAA\x07\x1b\\",
        "\x1b_Ga=q;\u{fffd}\x1b\\",
        "\x1b\x00_x\x1b\\",
        "\x1b^x\x1b\\",
        "\x1bXx\x1b\\",
    ] {
        assert!(shown(odd.as_bytes()).1, "{odd:?}");
    }
    for plain in [
        "\x1b[3;4Hx",
        "\x1b[999Bx",
        "\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18mx",
        "\x1bP+q544e\x1b\\x",
        "\x1b[?7l0123456789\x1b[?7h",
        "0123456789\r\x08x",
        // Questions to the terminal.
        "\x1bP$q q\x1b\\",
        "\x1bPzz\x1b\\",
        "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\x",
        "\x1b[?1016$p\x1b[?6n\x1b[?u\x1b[>0q\x1b[>5u\x1b[<u\x1b[=1;1u\x1b[>4;2m\x1b[?4m\x1b[22;2t",
    ] {
        assert!(!shown(plain.as_bytes()).1, "negative control: {plain:?}");
    }
}

/// Terminals differ about how many cells these take: a family, a picture of a letter or a key, a syllable, a hexagram.
#[test]
fn rows_that_another_terminal_may_have_wrapped_elsewhere_are_misread_while_they_are_shown() {
    for unclear in [
        "\u{1f468}\u{200d}\u{1f469}", "\u{2764}\u{fe0f}", "\u{1f1e9}\u{1f1ea}", "\u{1f44b}\u{1f3fd}", "1\u{20e3}",
        "\u{4dc0}", "\u{1fae9}", "\u{323b0}",
    ] {
        assert!(shown(format!("12345678{unclear}").as_bytes()).1, "{unclear}");
        assert!(shown(format!("123456789{unclear}").as_bytes()).1, "{unclear} in the next row");
        assert!(!shown(format!("1{unclear}").as_bytes()).1, "negative control: {unclear}");
        assert!(!shown(format!("12345678{unclear}\x1b[H\x1b[2J").as_bytes()).1, "{unclear} is gone");
    }
    assert!(!shown("\u{2500}\u{2500}\u{2500}\u{2500}\u{2500}\u{2500}\u{2500}漢".as_bytes()).1, "negative control");
}

#[test]
fn lines_of_a_pane_that_its_terminal_may_have_wrapped_elsewhere_are_misread() {
    let is_misread = |line: &str| {
        let capture = Capture { size: (24, 20), text: format!("{line}\n> \n"), ..Capture::default() };
        Emulator::from_capture(&capture).current_look(None, Instant::now()).is_misread
    };
    assert!(is_misread(&"\u{ad}".repeat(20)) && is_misread(&format!("{}\u{26a0}\u{fe0f}", "x".repeat(18))));
    assert!(!is_misread("\x1b[38;5;123m\u{26a0}\u{fe0f} short\x1b[39m"), "negative control");
    assert!(!is_misread(&"x".repeat(30)), "negative control");
}
