//! What sweep names is a link to its page on the board: in JSON, notifications and comments, and at a terminal.

use portable_pty::CommandBuilder;
use pulldown_cmark::{Event, Parser, Tag};
use rstest::rstest;
use serde_json::Value;
use sweep::rules::Id;
use sweep::store::hosts::links::HostUrl;

use super::orphan;
use crate::support::json;
use crate::support::program::{BINARY, Program, command_at, sweep, sweep_at};
use crate::support::receiver::Receiver;
use crate::support::terminal::Screen;
use crate::support::world::notifications::deliver;
use crate::support::world::{On, World};

const BOARD: &str = "https://board.example";
const USAGE: i32 = 64;
const CONFIG: i32 = 78;

fn named(world: &mut World, issue: &Id, identifier: &str) {
    world.set("issues", issue, &format!("identifier = '{identifier}'"));
}

/// A world with the orphan ACM-12, and a run of another issue, ACM-13, that fell silent: `(world, issue, run, agent)`.
fn company() -> (World, Id, Id, Id) {
    let mut world = World::new(On::Paperclip);
    let (issue, _) = orphan(&mut world);
    let (other, agent) = orphan(&mut world);
    named(&mut world, &issue, "ACM-12");
    named(&mut world, &other, "ACM-13");
    let run = world.silent_run(&agent, Some(&other));
    (world, issue, run, agent)
}

fn linked(program: Program) -> Program {
    program.env("SWEEP_HOST_URL", format!("{BOARD}/"))
}

fn url_in(rows: &Value, id: &Id) -> Value {
    let rows = rows.as_array().expect("rows");
    rows.iter().find(|row| row["id"] == id.0).unwrap_or_else(|| panic!("no {id} in {rows:?}"))["url"].clone()
}

#[test]
fn every_json_names_the_page_of_an_issue_and_of_a_run() {
    let (mut world, issue, run, agent) = company();
    let of_issue = format!("{BOARD}/ACM/issues/ACM-12");
    let of_run = format!("{BOARD}/ACM/agents/{agent}/runs/{run}");
    let url = world.url.clone();
    let plan = linked(sweep_at(&url, ["--dry-run", "--output", "json"])).run().done().json();
    assert_eq!((url_in(&plan["subjects"], &issue), url_in(&plan["subjects"], &run)), (of_issue.into(), of_run.into()));
    let status = linked(command_at(&url, ["status", "--output", "json"])).run().done().json();
    assert_eq!(url_in(&status["orphans"], &run), url_in(&plan["subjects"], &run));
    let explained = linked(command_at(&url, ["explain", "issue", "ACM-12", "--output", "json"])).run().done().json();
    assert_eq!(explained["url"], url_in(&plan["subjects"], &issue));
    let lines = linked(sweep_at(&url, ["--output", "ndjson"])).run().done();
    let lines: Vec<Value> = lines.out.lines().map(json::parse_valid).collect();
    assert_eq!(url_in(&Value::Array(lines), &issue), explained["url"]);

    // Without the setting, nothing is a link.
    world.end_continuations("failed");
    world.pass(10);
    let plan = sweep_at(&url, ["--dry-run", "--output", "json"]).run().done().json();
    assert_eq!(url_in(&plan["subjects"], &issue), Value::Null);
}

#[test]
fn people_who_are_notified_find_the_page_and_a_comment_leads_to_its_run() {
    let (mut world, _, run, agent) = company();
    let (webhook, slack) = (Receiver::new(), Receiver::new());
    let mut settings = world.notifying(&[("SWEEP_WEBHOOK_URL", &webhook.url()), ("SWEEP_SLACK_URL", &slack.url())]);
    settings.sweep.host_url = Some(HostUrl::parse(BOARD).expect("a URL"));
    world.sweep_as(&settings.sweep);
    assert_eq!(deliver(&settings).delivered, 2);

    let of_run = format!("{BOARD}/ACM/agents/{agent}/runs/{run}");
    let name = format!("ACM-13/{}", &run.0[..8]);
    let posted = webhook.requests()[0].json();
    assert_eq!(posted["notifications"][0]["url"], of_run);
    let said = serde_json::from_str::<Value>(&slack.requests()[0].body).expect("JSON")["text"].to_string();
    assert!(said.starts_with(&format!("\"sweep: session <{of_run}|{name}> needs a person")), "{said}");
    let comment = world.text("body", "issue_comments").expect("a comment");
    assert!(comment.contains(&format!("Session [\"`{name}`\"]({of_run}) of ")), "{comment}");
}

/// Anybody who may name an issue may write anything.
#[rstest]
#[case::that_ends_a_link_in_markdown("A`](http://evil.example)[x-13")]
#[case::that_ends_a_link_in_slack("A>|<!channel>-13")]
#[case::that_is_markup("<a href=\"http://evil.example\">**A**-13")]
fn a_name_leads_to_the_page_of_its_subject_and_nowhere_else(#[case] hostile: &str) {
    let (mut world, _, run, _) = company();
    let slack = Receiver::new();
    world.run(&format!("update issues set identifier = '{hostile}' where identifier = 'ACM-13'"));
    let mut settings = world.notifying_slack(&slack);
    settings.sweep.host_url = Some(HostUrl::parse(BOARD).expect("a URL"));
    world.sweep_as(&settings.sweep);
    assert_eq!(deliver(&settings).delivered, 1);

    let is_its_page = |url: &str| url.starts_with(&format!("{BOARD}/")) && url.ends_with(&format!("/runs/{run}"));
    let comment = world.text("body", "issue_comments").expect("a comment");
    let links = Parser::new(&comment).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. }) => Some(dest_url.into_string()),
        _ => None,
    });
    let links: Vec<String> = links.collect();
    assert!(matches!(links.as_slice(), [url] if is_its_page(url)), "{links:?} in {comment}");
    let body = serde_json::from_str::<Value>(&slack.requests()[0].body).expect("JSON");
    let text = body["text"].as_str().expect("a text");
    let inside = text.split_once('<').and_then(|(_, link)| link.split_once('>')).expect("a link");
    assert!(inside.0.split_once('|').is_some_and(|(url, _)| is_its_page(url)), "{text}");
    assert!(!inside.1.contains(['<', '>']), "{text}");
}

/// What `sweep status` draws on a terminal, or prints into a pipe, that knows links.
fn drawn(url: &str, setting: Option<&str>) -> (String, String) {
    let mut screen = Screen::of_size((50, 160));
    let mut command = CommandBuilder::new(BINARY);
    command.env_clear();
    let variables = [("HOME", "/nonexistent"), ("TERM", "xterm-256color"), ("FORCE_HYPERLINK", "1")];
    let variables = variables.into_iter().chain(setting.map(|url| ("SWEEP_HOST_URL", url)));
    variables.clone().for_each(|(name, value)| command.env(name, value));
    command.cwd("/");
    command.args(["status", "--database", url]);
    let mut child = screen.start(command);
    child.wait().expect("an end");
    let program = variables.fold(command_at(url, ["status"]), |program, (name, value)| program.env(name, value));
    (screen.text_to_the_end().replace('\r', ""), program.run().done().out)
}

#[test]
fn a_terminal_that_knows_links_shows_them_and_a_pipe_has_none() {
    let (mut world, issue, ..) = company();
    let link = |url: &str| format!("\u{1b}]8;;{url}\u{1b}\\");
    let shown = format!("{}ACM-12{}", link(&format!("{BOARD}/ACM/issues/ACM-12")), link(""));
    let (terminal, pipe) = drawn(&world.url, Some(BOARD));
    assert!(terminal.contains(&shown), "{terminal:?}");
    assert!(pipe.contains("ACM-12") && !pipe.contains('\u{1b}') && !pipe.contains(BOARD), "{pipe}");
    assert_eq!(drawn(&world.url, None).0.matches("\u{1b}]8").count(), 0);

    // What is written over the link, or behind it, stays where it was.
    let visible = |text: &str| anstream::adapter::strip_str(text).to_string();
    let row = |text: &str| visible(text).lines().find(|line| line.contains("ACM-12")).map(str::to_owned);
    assert_eq!(row(&terminal), row(&drawn(&world.url, None).0));

    named(&mut world, &issue, "ACM-12\u{1b}]8;;https://evil.example\u{1b}\\");
    let (terminal, _) = drawn(&world.url, Some(BOARD));
    assert!(
        !terminal.contains("\u{1b}]8;;https://evil") && !terminal.contains(&format!("{BOARD}/ACM/issues")),
        "{terminal:?}"
    );
}

#[rstest]
#[case("ftp://board.example")]
#[case("https://ada:hunter2@board.example")]
#[case("https://board.example?token=hunter2")]
fn an_address_that_is_none_is_refused_and_a_secret_in_it_is_not_shown(#[case] address: &str) {
    let (_directory, _, file) = crate::support::scratch::new_file();
    let expected = "expected https://HOST/… or http://HOST/…";
    let by_option = sweep_at(&file, ["--set", &format!("host_url={address}")]).run();
    let by_variable = sweep_at(&file, []).env("SWEEP_HOST_URL", address).run();
    for (ran, code, setting) in [(by_option, USAGE, "--set host_url"), (by_variable, CONFIG, "SWEEP_HOST_URL")] {
        assert!(!ran.err.contains("hunter2"), "{ran}");
        ran.refused(code, &[setting, expected]);
    }
}

#[test]
fn the_templates_are_shown() {
    let shown = sweep(["host", "show", "paperclip"]).run().done().out;
    assert!(shown.contains("issue {base}/{prefix}/issues/{identifier}, session {base}/"), "{shown}");
    let document = sweep(["host", "show", "paperclip", "--output", "json"]).run().done().json();
    assert_eq!(document["hosts"][0]["links"]["issue"], "{base}/{prefix}/issues/{identifier}");
    assert!(!sweep(["host", "show", "native"]).run().done().out.contains("links"));
}
