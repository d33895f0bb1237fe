//! Quotations in pages: output that takes more than a shell, such as a terminal or a server that is notified. Each kind
//! has a mark of its own behind `text`, and a function here that produces it.

use portable_pty::CommandBuilder;

use super::Page;
use super::blocks::Block;
use super::comparison::{compare, compare_quotations, turn};
use super::reader::{Client, Reader};
use crate::support::program::{BINARY, sweep};
use crate::support::receiver::{Answer, Receiver};
use crate::support::terminal::Screen;
use crate::support::wait::wait_for;

/// A mark, and the function that produces the output.
type Quoted = (&'static str, fn() -> String);

const QUOTED: [Quoted; 4] = [("demo", demo), ("terminal", terminal), ("agent", agent), ("slack", slack)];

const COMPANY: &str =
    "sweep demo --keep --at start --database sqlite://acme.db >/dev/null\nexport DATABASE_URL=sqlite://acme.db";

/// The output of these blocks, one after the other, beginning with the demo's company.
fn follow(blocks: &[Block]) -> String {
    let blocks: Vec<Block> = [Block::new("sh", COMPANY)].into_iter().chain(blocks.iter().cloned()).collect();
    Reader::new(Client::Sqlite, None).follow(&blocks).concat().concat()
}

fn demo() -> String {
    sweep(["demo"]).run().done().out
}

/// `sweep --issue ACM-12` at a terminal, where the answer is no.
fn terminal() -> String {
    let directory = tempfile::tempdir().expect("a directory");
    let url = format!("sqlite://{}/acme.db", directory.path().display());
    sweep(["demo", "--keep", "--at", "start", "--database", &url]).run().done();
    let mut screen = Screen::of_size((50, 120));
    let mut command = CommandBuilder::new(BINARY);
    command.env_clear();
    for (name, value) in [("HOME", "/nonexistent"), ("TERM", "xterm-256color"), ("NO_COLOR", "1")] {
        command.env(name, value);
    }
    command.cwd("/");
    command.args(["--issue", "ACM-12", "--database", &url]);
    let mut child = screen.start(command);
    wait_for("a question", || screen.text().contains("Type yes to go on").then_some(()));
    screen.types("no\r");
    child.wait().expect("an end");
    let text = screen.text_to_the_end();
    // The line that moves is drawn over by the next output.
    let text = text.rsplit("\u{1b}[2K").next().unwrap_or_default();
    anstream::adapter::strip_str(text).to_string().replace('\r', "")
}

/// `sweep explain` of a session whose agent asks for a permission.
fn agent() -> String {
    let asks = "update sessions set agent_state = 'waiting', agent_state_kind = 'permission', \
                agent_question = 'rm -rf ./important', \
                agent_state_evidence = 'screen, rule Claude Code/permission, lines 9 to 24', \
                agent_state_since = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-2 minutes') where identifier = 'chiara-4';";
    follow(&[Block::new("sql", asks), Block::new("console", "$ sweep explain session chiara-4")])
}

/// Slack's messages about one escalation, about many, about abandoned work, and about a wake that is stuck, then all of
/// them, and then none.
fn slack() -> String {
    let receiver = Receiver::new();
    let taken = "update wakes set status = 'completed' where status = 'queued';";
    follow(&[
        Block::new("sh", &format!("export SWEEP_SLACK_URL={}", receiver.url())),
        Block::new("console", "$ sweep --issue ACM-12 --set attempts_max=0"),
        Block::new("console", "$ sweep --set attempts_max=0 --set nudges_max=0"),
        Block::new("sql", "update runs set wake_id = null;"),
        Block::new("console", "$ sweep"),
        Block::new("sql", taken),
        Block::new("console", "$ sweep"),
    ]);
    let texts = receiver.received();
    texts.iter().map(|reported| format!("{}\n", reported["text"].as_str().expect("a text"))).collect()
}

#[test]
fn what_the_documents_quote_is_what_is_printed() {
    let _turn = turn();
    for (mark, produce) in QUOTED {
        let printed = produce();
        let quoted: usize = Page::load_all().iter().map(|page| compare_quotations(page, mark, &printed)).sum();
        assert!(1 <= quoted, "nothing quotes {mark}");
    }
    for block in Page::load_all().iter().flat_map(Page::blocks).filter(|block| block.language == "text") {
        let is_known = block.mark.as_deref().is_none_or(|mark| QUOTED.iter().any(|(known, _)| *known == mark));
        assert!(is_known, "nothing produces: {block:?}");
    }
}

/// The receivers are as the page has them: Slack accepts the message, the webhook refuses it, and the switch answers.
#[test]
fn what_a_test_of_the_notifications_prints_is_what_the_documents_show() {
    let _turn = turn();
    let [slack, webhook, ping] = [200, 401, 200].map(|status| Receiver::answering(Answer::Status(status)));
    let exports = format!(
        "export SWEEP_SLACK_URL={} SWEEP_WEBHOOK_URL={} SWEEP_WEBHOOK_SECRET=hunter2-hunter2 SWEEP_PING_URL={}",
        slack.url(),
        webhook.url(),
        ping.url()
    );
    let page = Page::load("docs/notifications.md");
    let is_notified = |block: &Block| block.mark.as_deref() == Some("receivers");
    let shown: Vec<Block> = page.blocks().into_iter().filter(is_notified).collect();
    assert_eq!(shown.len(), 1, "{shown:?}");
    let blocks: Vec<Block> = [Block::new("sh", &exports)].into_iter().chain(shown.clone()).collect();
    let printed = Reader::new(Client::Sqlite, None).follow(&blocks);
    compare(&page, &shown, &printed[1..]);
}
