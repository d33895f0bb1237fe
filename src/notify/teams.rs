//! Messages for a workflow of Microsoft Teams that is started by a webhook: an Adaptive Card of text runs, in which no
//! Markdown is read.

use serde_json::{Value, json};

use super::client::HttpMessage;
use super::lines::{MessageLine, fitting};

/// The length of the lines of a card in bytes. Teams refuses messages of more than 28 KB.
const LINES_MAX: usize = 24_000;

pub fn message(lines: Vec<MessageLine>) -> HttpMessage {
    let lines = fitting(lines, LINES_MAX, |line| block(line).to_string().len() + 1);
    let mut blocks: Vec<Value> = lines.iter().map(block).collect();
    blocks[0]["inlines"][0]["weight"] = json!("Bolder");
    let card = json!({
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": { "width": "Full" },
        "body": blocks,
    });
    let attachment = json!({ "contentType": "application/vnd.microsoft.card.adaptive", "content": card });
    let body = json!({ "type": "message", "attachments": [attachment] });
    HttpMessage { headers: Vec::new(), body: body.to_string() }
}

fn block(line: &MessageLine) -> Value {
    let inlines = match &line.url {
        None => vec![run(&line.text())],
        Some(url) => {
            let mut name = run(&line.name);
            name["selectAction"] = json!({ "type": "Action.OpenUrl", "url": url });
            vec![run(&line.before), name, run(&line.after)]
        }
    };
    json!({ "type": "RichTextBlock", "inlines": inlines })
}

/// A run of text. Teams would write {{DATE(…)}} as a date. The second replacement parts what the first one has left
/// together: of three braces the last two.
fn run(text: &str) -> Value {
    json!({ "type": "TextRun", "text": text.replace("{{", "{ {").replace("{{", "{ {") })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{MessageLine, message};

    fn body(lines: Vec<MessageLine>) -> Value {
        serde_json::from_str(&message(lines).body).expect("JSON")
    }

    #[test]
    fn a_line_is_a_block_of_runs_and_its_name_a_link() {
        let linked = MessageLine {
            before: "sweep: issue ".to_owned(),
            name: "**A**-1".to_owned(),
            url: Some("https://board.example/A-1".to_owned()),
            after: " needs a person: [x](https://evil.example) <at>all</at>".to_owned(),
        };
        let details = "“{{DATE(2026-01-01T00:00:00Z)}}” {{{DATE(x)}}} {{{{".to_owned();
        let open = json!({ "type": "Action.OpenUrl", "url": "https://board.example/A-1" });
        let expected = json!({ "type": "message", "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "msteams": { "width": "Full" },
                "body": [
                    { "type": "RichTextBlock", "inlines": [
                        { "type": "TextRun", "text": "sweep: issue ", "weight": "Bolder" },
                        { "type": "TextRun", "text": "**A**-1", "selectAction": open },
                        { "type": "TextRun", "text": " needs a person: [x](https://evil.example) <at>all</at>" },
                    ] },
                    { "type": "RichTextBlock", "inlines": [
                        { "type": "TextRun", "text": "“{ {DATE(2026-01-01T00:00:00Z)}}” { { {DATE(x)}}} { { { {" },
                    ] },
                ],
            },
        }] });
        assert_eq!(body(vec![linked, details.into()]), expected);
    }

    #[test]
    fn a_card_stays_within_what_teams_takes() {
        let lines: Vec<MessageLine> = vec!["\"".repeat(600); 40].into_iter().map(MessageLine::from).collect();
        let message = message(lines).body;
        assert!((20_000..28_000).contains(&message.len()) && message.contains("\"…\""), "{}", message.len());
    }
}
