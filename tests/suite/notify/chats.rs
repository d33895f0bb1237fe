//! The chats: each gets its own form at the path of its webhooks, by which it is known.

use rstest::rstest;
use sweep::notify::Delivered;

use crate::support::planted::quoted as in_sql;
use crate::support::receiver::{Answer, Receiver};
use crate::support::world::notifications::deliver;
use crate::support::world::{On, World};

const TITLE: &str =
    "`@everyone` <!channel> <@1> @all https://evil.example [x](https://evil.example) **b** :x: ~town #h";

#[rstest]
#[case::discord("SWEEP_SLACK_URL", "api/webhooks/12/hunter2", "/api/webhooks/12/hunter2", 204)]
#[case::discord_as_slack("SWEEP_SLACK_URL", "api/webhooks/12/hunter2/slack", "/api/webhooks/12/hunter2", 204)]
#[case::mattermost("SWEEP_SLACK_URL", "hooks/hunter2", "/hooks/hunter2", 200)]
#[case::teams("SWEEP_TEAMS_URL", "workflows/1?sig=hunter2", "/workflows/1?sig=hunter2", 202)]
fn a_title_is_text_in_each_chat(#[case] setting: &str, #[case] path: &str, #[case] asked: &str, #[case] status: u16) {
    let (mut world, receiver) = (World::new(On::Sqlite), Receiver::answering(Answer::Status(status)));
    let settings = world.notifying(&[(setting, &receiver.at(path))]);
    let step = world.escalation();
    world.run(&format!("update plans set title = {}", in_sql(TITLE)));
    world.set("plan_steps", &step, &format!("title = {}", in_sql(TITLE)));
    world.sweep_as(&settings.sweep);

    assert_eq!(deliver(&settings), Delivered { delivered: 1, ..Delivered::default() });

    let request = receiver.requests().remove(0);
    assert_eq!(request.path, asked);
    let sent = request.json();
    match setting {
        "SWEEP_TEAMS_URL" => {
            let card = &sent["attachments"][0]["content"];
            let blocks = card["body"].as_array().expect("blocks");
            let runs = blocks.iter().flat_map(|block| block["inlines"].as_array().expect("runs"));
            assert!(runs.clone().all(|run| run["type"] == "TextRun" && run.get("selectAction").is_none()), "{sent}");
            assert!(runs.clone().any(|run| run["text"].as_str().is_some_and(|text| text.contains("@everyone"))));
            assert!(blocks.iter().all(|block| block["type"] == "RichTextBlock"), "Markdown is read in a TextBlock");
        }
        _ => {
            let text = sent["content"].as_str().or(sent["text"].as_str()).expect("a text");
            let outside: String = text.split('`').step_by(2).collect();
            assert!(outside.trim().is_empty() && !text.contains(['<', '>']) && text.contains("@everyone"), "{text}");
        }
    }
}

/// Discord asks to be left alone for a while: nothing more goes there until the next run.
#[test]
fn a_chat_that_has_enough_is_left_alone() {
    let (mut world, receiver) = (World::new(On::Sqlite), Receiver::answering(Answer::Status(429)));
    let settings = world.notifying(&[("SWEEP_SLACK_URL", &receiver.at("api/webhooks/12/hunter2"))]);
    (0..2).for_each(|_| drop(world.escalation()));
    world.sweep_as(&settings.sweep);
    assert_eq!(deliver(&settings), Delivered { failed: 1, ..Delivered::default() });
    assert_eq!(receiver.requests().len(), 1);
    receiver.answer(Answer::Status(204));
    world.retry();
    assert_eq!(deliver(&settings).delivered, 2);
}
