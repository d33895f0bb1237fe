//! Messages for an incoming webhook of Slack, Mattermost or Discord, each in the form in which the chat shows text of
//! others as text, mentions nobody, and links only to a subject's page.
//!
//! Slack is asked not to format; there &, < and > are escaped. Mattermost formats whatever it is asked, and Discord's
//! way of taking Slack's messages knows no way to mention nobody: both get Markdown, in which text of others is code.

use serde_json::json;

use super::client::{HttpMessage, Target};
use super::lines::{MessageLine, fitting};

/// An incoming webhook of a chat.
#[derive(Clone)]
pub struct Chat {
    target: Target,
    program: ChatProgram,
}

/// The program of a chat, known by the path of its webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChatProgram {
    /// Also any other that takes Slack's messages.
    Slack,
    /// `/hooks/KEY`
    Mattermost,
    /// `/api/webhooks/ID/TOKEN`, or that and `/slack`
    Discord,
}

impl ChatProgram {
    /// The program that a path leads to, and its own path.
    fn of(path: &str) -> (ChatProgram, &str) {
        let path = path.trim_end_matches('/');
        let bare = path.strip_suffix("/slack").unwrap_or(path);
        let last_first: Vec<&str> = bare.rsplit('/').collect();
        match last_first[..] {
            [_, id, "webhooks", "api", ..] | [_, id, "webhooks", _, "api", ..]
                if id.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                (ChatProgram::Discord, bare)
            }
            [_, "hooks", before, ..] if bare == path && !before.is_empty() => (ChatProgram::Mattermost, path),
            _ => (ChatProgram::Slack, path),
        }
    }
}

impl Chat {
    /// Parses and checks a URL.
    ///
    /// # Errors
    /// What is wrong with the URL, without the URL itself.
    pub fn parse(url: &str, private: bool) -> Result<Chat, String> {
        let end = url.find(['?', '#']).unwrap_or(url.len());
        let (address, query) = url.split_at(end);
        let (program, address) = ChatProgram::of(address);
        Ok(Chat { target: Target::parse(&format!("{address}{query}"), private)?, program })
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    pub fn message(&self, lines: Vec<MessageLine>) -> HttpMessage {
        let body = match self.program {
            ChatProgram::Slack => json!({
                "text": text(lines, TEXT_MAX, in_slack), "mrkdwn": false, "parse": "none", "link_names": false,
                "unfurl_links": false, "unfurl_media": false,
            }),
            ChatProgram::Mattermost => json!({ "text": text(lines, TEXT_MAX, in_markdown) }),
            ChatProgram::Discord => json!({
                "content": text(lines, DISCORD_TEXT_MAX, in_markdown), "allowed_mentions": { "parse": [] },
                "flags": SUPPRESS_EMBEDS,
            }),
        };
        HttpMessage { headers: Vec::new(), body: body.to_string() }
    }
}

/// The length of a text in UTF-16 units. Slack cuts it at 40,000 characters, and Mattermost splits it at 16,383; people
/// stop reading long before.
const TEXT_MAX: usize = 4000;

/// Discord refuses more than 2,000 characters. This leaves place for an ellipsis.
const DISCORD_TEXT_MAX: usize = 1990;

/// Has Discord show no preview of a page.
const SUPPRESS_EMBEDS: u32 = 1 << 2;

fn text(lines: Vec<MessageLine>, units_max: usize, written: fn(&MessageLine) -> String) -> String {
    let lines = fitting(lines, units_max, |line| written(line).encode_utf16().count() + 1);
    lines.iter().map(written).collect::<Vec<_>>().join("\n")
}

/// `issue <https://board.example/ACM/issues/ACM-12|ACM-12> needs a person`
fn in_slack(MessageLine { before, name, url, after }: &MessageLine) -> String {
    let name = match url {
        Some(url) => format!("<{}|{}>", escaped(url), escaped(name)),
        None => escaped(name),
    };
    format!("{}{name}{}", escaped(before), escaped(after))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// `` `issue` [`ACM-12`](https://board.example/ACM/issues/ACM-12) `needs a person` ``
fn in_markdown(line: &MessageLine) -> String {
    let MessageLine { before, name, url, after } = line;
    match url {
        Some(url) => format!("{} [{}]({url}) {}", code(before), code(name), code(after)),
        None => code(&line.text()),
    }
}

/// A code span, in which nothing is a mention, a link or a format. Mattermost looks for Slack's mentions, which are in
/// angle brackets, before it looks for code.
fn code(text: &str) -> String {
    let text = text.trim().replace('`', "'").replace('<', "‹").replace('>', "›");
    if text.is_empty() { text } else { format!("`{text}`") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::{Chat, ChatProgram, MessageLine, TEXT_MAX, escaped, in_markdown, in_slack};

    #[rstest]
    #[case("<!channel> help", "&lt;!channel&gt; help")]
    #[case("<@U123> <#C1|general>", "&lt;@U123&gt; &lt;#C1|general&gt;")]
    #[case("<https://evil.example|https://bank.example>", "&lt;https://evil.example|https://bank.example&gt;")]
    #[case("a & b &lt; c", "a &amp; b &amp;lt; c")]
    #[case("*bold* _it_ `code` Ünïcode 🦀", "*bold* _it_ `code` Ünïcode 🦀")]
    fn what_agents_wrote_is_text_and_nothing_else(#[case] line: &str, #[case] expected: &str) {
        assert_eq!(escaped(line), expected);
    }

    fn line(before: &str, name: &str, url: Option<&str>, after: &str) -> MessageLine {
        let url = url.map(str::to_owned);
        MessageLine { before: before.to_owned(), name: name.to_owned(), url, after: after.to_owned() }
    }

    proptest! {
        #[test]
        fn no_text_is_a_mention_a_link_or_a_second_line(text in any::<String>(), tag in "<[!@#]?[a-z|:/.]{1,12}>") {
            let line = MessageLine::from(format!("{text}{tag}{text}"));
            let escaped = in_slack(&line);
            prop_assert!(!escaped.contains(['<', '>', '\n', '\r']), "{escaped}");
        }

        /// A backtick more would end the code span, and what follows would be Markdown.
        #[test]
        fn all_text_of_others_is_code(text in any::<String>(), tag in "`{0,3}[@<]!?(here|everyone)>?`{0,3}") {
            let text = format!("{text}{tag}");
            let line = line(&text, &text, Some("https://board.example/x"), &text);
            let MessageLine { before, name, .. } = MessageLine::from(text);
            for written in [in_markdown(&line), in_markdown(&MessageLine { name, ..MessageLine::from(before) })] {
                let outside: String = written.split('`').step_by(2).collect();
                prop_assert!([" []"," [](https://board.example/x) ", ""].contains(&&*outside), "{written}");
                prop_assert!(!written.contains(['<', '>']), "{written}");
            }
        }
    }

    #[test]
    fn a_name_leads_to_its_page_and_nothing_in_it_ends_the_link() {
        let line = |url| line("issue ", "A|>-1", url, ": <!here>");
        let url = "https://board.example/a%3Eb?x=1&y=2";
        let linked = "issue <https://board.example/a%3Eb?x=1&amp;y=2|A|&gt;-1>: &lt;!here&gt;";
        assert_eq!(in_slack(&line(Some(url))), linked);
        assert_eq!(in_slack(&line(None)), "issue A|&gt;-1: &lt;!here&gt;");
        let linked = "`issue` [`A|›-1`](https://board.example/a%3Eb?x=1&y=2) `: ‹!here›`";
        assert_eq!(in_markdown(&line(Some(url))), linked);
        assert_eq!(in_markdown(&line(None)), "`issue A|›-1: ‹!here›`");
    }

    #[rstest]
    #[case("https://hooks.slack.com/services/T0/B0/key", ChatProgram::Slack, None)]
    #[case("https://chat.example/hooks/key", ChatProgram::Mattermost, None)]
    #[case("https://example.com/team/hooks/key/", ChatProgram::Mattermost, Some("https://example.com/team/hooks/key"))]
    #[case("https://hooks/key", ChatProgram::Slack, None)]
    #[case("https://rocket.example/hooks/id/token", ChatProgram::Slack, None)]
    #[case("https://discord.com/api/webhooks/12/to-ken", ChatProgram::Discord, None)]
    #[case("https://discord.com/api/v10/webhooks/12/to-ken", ChatProgram::Discord, None)]
    #[case(
        "https://discord.com/api/webhooks/12/t/slack?thread_id=3",
        ChatProgram::Discord,
        Some("https://discord.com/api/webhooks/12/t?thread_id=3")
    )]
    fn a_chat_is_known_by_its_path(#[case] url: &str, #[case] program: ChatProgram, #[case] asked: Option<&str>) {
        let chat = Chat::parse(url, false).expect("a chat");
        assert_eq!((chat.program, chat.target.exposed()), (program, asked.unwrap_or(url)));
    }

    fn sent(url: &str, lines: Vec<MessageLine>) -> Value {
        let chat = Chat::parse(url, false).expect("a chat");
        serde_json::from_str(&chat.message(lines).body).expect("JSON")
    }

    #[test]
    fn each_chat_is_asked_to_mention_nobody_in_its_own_way() {
        let lines = || vec!["@here".to_owned().into()];
        let slack = json!({
            "text": "@here", "mrkdwn": false, "parse": "none", "link_names": false, "unfurl_links": false,
            "unfurl_media": false,
        });
        assert_eq!(sent("https://hooks.slack.com/services/T0/B0/key", lines()), slack);
        assert_eq!(sent("https://chat.example/hooks/key", lines()), json!({ "text": "`@here`" }));
        let discord = json!({ "content": "`@here`", "allowed_mentions": { "parse": [] }, "flags": 4 });
        assert_eq!(sent("https://discord.com/api/webhooks/1/t", lines()), discord);
    }

    #[rstest]
    #[case("https://hooks.slack.com/services/T0/B0/key", "text", TEXT_MAX + 1)]
    #[case("https://discord.com/api/webhooks/1/t", "content", 2000)]
    fn a_message_stays_short(#[case] url: &str, #[case] field: &str, #[case] units_max: usize) {
        let lines: Vec<MessageLine> = vec!["🦀&".repeat(100); 50].into_iter().map(MessageLine::from).collect();
        let message = sent(url, lines);
        let text = message[field].as_str().expect("a text");
        assert!(text.encode_utf16().count() <= units_max && text.contains("\n`…`") | text.ends_with("\n…"), "{text}");
    }
}
