//! Questions around a composer, written with other spaces and signs than those of ASCII.

use std::time::Instant;

use super::{IDLE, beside};
use crate::rules::session::Activity;
use crate::screen::tests::RAW;
use crate::screen::{Agents, Emulator};

/// Which agents are idle with this row directly above the composer, or below it.
fn idle_beside(row: &str) -> Vec<&'static str> {
    // Directly above the composer of Gemini stands a row of its own.
    let above = beside(&[row], &[]).into_iter().filter(|(command, _)| *command != "gemini");
    let all = above.chain(beside(&[], &[row]));
    all.filter(|(_, activity)| *activity == Some(Activity::Idle)).map(|(command, _)| command).collect()
}

#[test]
fn a_question_is_one_whatever_its_spaces_are() {
    assert_eq!(idle_beside("C'est fait.").len(), IDLE.len() - 1, "negative control");
    for space in [" ", "\u{a0}", "\u{202f}", "\u{2003}", "\u{3000}"] {
        for asks in ["Supprimer toute la base ?", "Continuer (o / n)", "Are you sure about this", "❯ 1. Yes"] {
            assert!(idle_beside(&asks.replace(' ', space)).is_empty(), "{asks} with {space:?}");
        }
    }
    assert!(idle_beside("Delete everything   ?").is_empty());
}

#[test]
fn a_question_is_one_by_the_question_mark_of_any_script() {
    for mark in "?？﹖︖؟՞፧᥅‽⁇⁈⁉❓❔⳺⳻⸮⹔꘏꛷".chars() {
        assert!(idle_beside(&format!("Delete it{mark}")).is_empty(), "{mark}");
    }
    for asks in ["Να διαγραφούν;", "Να διαγραφούν\u{37e}"] {
        assert!(idle_beside(asks).is_empty(), "{asks}");
    }
}

#[test]
fn a_question_is_one_in_signs_of_full_width() {
    for asks in ["削除しますか（ｙ／ｎ）", "［Ｙ］ ［Ｎ］", "パスワード：", "Ｄｅｌｅｔｅ　ｉｔ？"]
    {
        assert!(idle_beside(asks).is_empty(), "{asks}");
    }
}

#[test]
fn a_question_is_one_by_brackets_slashes_colons_and_accents_of_any_kind() {
    for asks in [
        "Delete it 【y/N】",
        "Delete it 〔o/n〕",
        "Supprimer tout (o\u{2044}n)",
        "「はい」 「いいえ」",
        "Password﹕",
        "contrasen\u{303}a:",
        "Bitte dru\u{308}cken",
        "Delete it ⤶",
        "Are you  sure",
        "Διαγραφή; Δεν αναιρείται",
        "Να διαγραφεί το main.rs\u{37e}",
        "Να διαγραφούν «όλα»;",
    ] {
        assert!(idle_beside(asks).is_empty(), "{asks}");
    }
}

/// A terminal wraps at its width, and agents at theirs.
#[test]
fn a_question_is_one_when_its_end_wraps() {
    for rows in [
        ["● Soll ich die Datenbank samt aller Sicherungen löschen", "  ?"],
        ["● Faut-il supprimer toute la base de production", "  \u{a0}？"],
        ["● The database and all of its backups will be gone, are you", "  sure about this"],
        ["● I need the password of the user deploy for the server", "  db.example.com:"],
    ] {
        let found = beside(&rows, &[]);
        let idle = found.iter().filter(|(_, activity)| *activity == Some(Activity::Idle));
        assert_eq!(idle.map(|(command, _)| *command).collect::<Vec<_>>(), ["gemini"], "{rows:?}");
    }
    let answered = beside(&["● Is it done?", "  Yes, all of it is done."], &[]);
    assert!(answered.iter().all(|(_, activity)| *activity == Some(Activity::Idle)), "negative control: {answered:?}");
}

/// A program for which the operator vouches may show anything below its prompt but what one key answers.
#[test]
fn keys_that_answer_below_a_vouched_prompt_may_wrap() {
    let idle = |below: &str| {
        let mut emulator = Emulator::new((24, 80));
        emulator.process(format!("\x1b[Hready\r\n> \r\n{below}\x1b[2;3H").as_bytes(), Instant::now());
        let look = emulator.current_look(Some(RAW), Instant::now());
        let seen = Agents::get().read_screen(Agents::get().prompt(), &look, |_| true);
        seen.is_some_and(|seen| seen.activity == Activity::Idle)
    };
    assert!(idle("12 files\r\nbranch main"), "negative control");
    for below in ["Delete it [y/n]", "Delete it [y/\r\nn]", "Delete it for all customers, y\r\nor n"] {
        assert!(!idle(below), "{below}");
    }
}
