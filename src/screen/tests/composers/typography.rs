//! Questions around a composer, written with other spaces and signs than those of ASCII.

use super::{IDLE, beside};
use crate::rules::session::Activity;

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
