use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn links(issue: &str, base: Option<&str>) -> Links {
    let issue = Template::try_from(issue.to_owned()).expect("a template");
    let base = base.map(|base| HostUrl::parse(base).expect("a URL"));
    Links { templates: Templates { issue: Some(issue), ..Templates::default() }, base }
}

fn page<'a>(id: &'a Id, identifier: Option<&'a str>) -> LinkTarget<'a> {
    LinkTarget { kind: Kind::Issue, id, identifier, tenant: Some("acme"), agent: Some(id) }
}

const BASE: Option<&str> = Some("https://board.example/");

#[rstest]
#[case::by_its_identifier("{base}/{prefix}/issues/{identifier}", BASE, Some("https://board.example/ACM/issues/ACM-12"))]
#[case::by_all_there_is("{base}/{tenant}?a={agent}#{id}", BASE, Some("https://board.example/acme?a=7#7"))]
#[case::elsewhere("https://issues.example/{id}", None, Some("https://issues.example/7"))]
#[case::nobody_knows_where("{base}/{id}", None, None)]
#[case::below_a_path("{base}/{id}", Some("http://[::1]:3100/board"), Some("http://[::1]:3100/board/7"))]
fn a_template_is_filled(#[case] template: &str, #[case] base: Option<&str>, #[case] expected: Option<&str>) {
    let id = Id("7".to_owned());
    assert_eq!(links(template, base).to(&page(&id, Some("ACM-12"))).as_deref(), expected);
}

#[rstest]
#[case::nothing(None, None)]
#[case::an_empty_one(Some(""), None)]
#[case::a_way_up(Some(".."), None)]
#[case::a_secret(Some("sk-live-0123456789abcdef"), None)]
#[case::what_changes_a_terminal(Some("A\u{1b}[2J"), None)]
#[case::others_letters(Some("Ä 1"), Some("https://board.example/%C3%84%201"))]
#[case::markup(Some("a)|<>\"'/?#&["), Some("https://board.example/a%29%7C%3C%3E%22%27%2F%3F%23%26%5B"))]
fn what_cannot_be_shown_or_is_missing_makes_no_link(#[case] identifier: Option<&str>, #[case] expected: Option<&str>) {
    let id = Id("7".to_owned());
    assert_eq!(links("{base}/{identifier}", BASE).to(&page(&id, identifier)).as_deref(), expected);
}

#[test]
fn a_kind_without_a_template_and_a_name_that_is_too_long_have_no_link() {
    let (id, long) = (Id("7".to_owned()), "Ä".repeat(400));
    let links = links("{base}/{identifier}", BASE);
    assert_eq!(links.to(&LinkTarget { kind: Kind::Step, ..page(&id, Some("1")) }), None);
    assert_eq!(links.to(&page(&id, Some(&long))), None);
    assert_eq!(Links::default().to(&page(&id, Some("1"))), None);
}

proptest! {
    #[test]
    fn no_text_ends_a_link(identifier in any::<String>(), tenant in any::<String>()) {
        let id = Id(identifier.clone());
        let page = LinkTarget { tenant: Some(&tenant), ..page(&id, Some(&identifier)) };
        if let Some(url) = links("{base}/{identifier}/{tenant}/{id}", BASE).to(&page) {
            prop_assert!(url.chars().all(|c| c.is_ascii_alphanumeric() || "-._~:/%".contains(c)), "{url}");
            prop_assert_eq!(url.matches('/').count(), 5);
        }
    }
}

#[rstest]
#[case::another_scheme("javascript:alert(1)//{id}", "expected {base}/… or https://…")]
#[case::no_scheme("/issues/{id}", "expected {base}/… or https://…")]
#[case::a_placeholder_that_is_none("{base}/{name}", "{name}: expected one of {base}, {id}, {identifier}, {prefix}")]
#[case::a_brace_that_is_left_open("{base}/{id", "expected a URL, and in braces one of {base}")]
#[case::a_brace_that_is_closed_alone("{base}/id}", "expected a URL, and in braces one of")]
#[case::what_ends_a_link_in_markdown("{base}/(x)", "expected a URL, and in braces one of")]
#[case::a_control("{base}/\u{1b}", "expected a URL, and in braces one of")]
fn another_template_is_refused_with_what_was_expected(#[case] template: &str, #[case] expected: &str) {
    let why = Template::try_from(template.to_owned()).expect_err("a mistake");
    assert!(why.contains(expected), "{why}");
}

#[rstest]
#[case("ftp://board.example")]
#[case("board.example")]
#[case("https://")]
#[case("https://:3100")]
#[case("https://ada:hunter2@board.example")]
#[case("https://board.example/?token=hunter2")]
#[case("https://board.example/#top")]
#[case("https://board.example/ ")]
#[case("javascript://board.example")]
#[case("https://%")]
#[case("https://..")]
#[case("https://[::1")]
#[case("https://[board]")]
#[case("https://board.example:port")]
#[case("https://board.example:65536")]
#[case("https://board.example:0/")]
#[case("https://a:b:c")]
#[case("https://board.example/a\u{1b}b")]
#[case("https://board.example/a[b]")]
#[case(" https://board.example")]
fn another_base_is_refused_and_not_shown(#[case] url: &str) {
    let why = HostUrl::parse(url).expect_err("a mistake");
    assert!(why.starts_with("expected https://HOST/…") && !why.contains("hunter2"), "{why}");
}

#[test]
fn a_call_and_a_statement_are_ready_for_a_shell() {
    let text = r#"[{"path": "/api/issues/7/resolve", "body": {"note": "it's done"}}, {"sql": "update t set a = 'b'"}]"#;
    let base = HostUrl::parse("https://board.example/").expect("a URL");
    let commands: Vec<_> = HostStep::all_of(Some(text)).iter().map(|step| step.command(Some(&base))).collect();
    let [Some(call), Some(statement)] = &commands[..] else { panic!("{commands:?}") };
    assert!(call.starts_with("curl -sS --fail-with-body https://board.example/api/issues/7/resolve "), "{call}");
    let words = shell_words::split(call).expect("words");
    assert_eq!(words.last().map(String::as_str), Some(r#"{"note":"it's done"}"#));
    assert_eq!(shell_words::split(statement).expect("words")[3], "update t set a = 'b'");
}

#[test]
fn a_path_that_leads_elsewhere_or_what_cannot_be_read_makes_no_command() {
    for path in ["api", "//evil.example/api", "/api/../x", "/a@b", "/a b", "/a;b", "/a$b", "/a?b", ""] {
        assert_eq!(plain_path(path), None, "{path}");
    }
    for text in ["", "{}", "[1]", r#"[{"path": "/a"}]"#, r#"[{"path": "/a", "body": {}, "sql": "x"}]"#] {
        assert_eq!(HostStep::all_of(Some(text)), Vec::new(), "{text}");
    }
}
