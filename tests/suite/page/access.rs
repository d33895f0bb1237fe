//! Access to the page: who may see it, and the addresses at which it is not served at all.

use rstest::rstest;

use crate::support::daemon::{Daemon, NEVER, daemon};
use crate::support::page::{ask, ask_for, page, served};
use crate::support::program::sweep;
use crate::support::world::{On, World};

const CONFIG: i32 = 78;

const TOKEN: &str = "correct horse battery";

/// `:correct horse battery` in base64.
const BASIC: &str = "Authorization: Basic OmNvcnJlY3QgaG9yc2UgYmF0dGVyeQ==";

#[test]
fn where_others_could_read_it_it_is_not_served_to_everybody() {
    let world = World::new(On::Sqlite);
    let says = ["SWEEP_HTTP is 0.0.0.0:0", "SWEEP_PAGE_TOKEN", "SWEEP_PAGE_PROXY", "127.0.0.1"];
    sweep(["page", "--database", &world.url, "--http", "0.0.0.0:0"]).run().says_once(CONFIG, &says);
    let beside = ["daemon", "--database", &world.url, "--schedule", NEVER, "--page", "on", "--http", "0.0.0.0:0"];
    sweep(beside).run().says_once(CONFIG, &says);
    let both = ["--http", "off", "--page", "on"];
    daemon(&world.url, NEVER, both).run().refused(64, &["--http"]);
    sweep(["daemon", "--database", &world.url, "--http", "off", "--page", "on"])
        .run()
        .says_once(CONFIG, &["SWEEP_PAGE"]);
    sweep(["page", "--database", &world.url, "--http", "off"]).run().says_once(CONFIG, &["SWEEP_HTTP is off"]);
}

#[rstest]
#[case("SWEEP_PAGE_TOKEN", "too short", "SWEEP_PAGE_TOKEN holds is refused: expected at least 16 characters")]
#[case("SWEEP_PAGE_HOST", "https://board.example", "expected names such as board.example")]
#[case("SWEEP_PAGE_PROXY", "proxy.example", "expected addresses such as 10.0.0.7")]
fn wrong_settings_are_refused_by_name(#[case] name: &str, #[case] value: &str, #[case] expected: &str) {
    let world = World::new(On::Sqlite);
    let ran = page(&world.url, []).env(name, value).run();
    ran.says_once(CONFIG, &[name, expected]);
    assert!(!ran.err.contains("too short"), "{ran}");
}

#[test]
fn with_a_token_it_is_asked_for_on_this_machine_as_well() {
    let world = World::new(On::Sqlite);
    let page = Daemon::start(page(&world.url, []).env("SWEEP_PAGE_TOKEN", TOKEN));
    for path in ["/", "/sweeps", "/style.css", "/nowhere"] {
        let refused = ask(&page, &format!("GET {path}"), &[]);
        assert_eq!(refused.status, 401, "{path}");
        assert_eq!(refused.headers["www-authenticate"], "Basic realm=\"sweep\", charset=\"UTF-8\"");
        assert!(!refused.body.contains("native") && !refused.headers.contains_key("etag"), "{}", refused.body);
    }
    assert_eq!(ask(&page, "GET /", &["Authorization: Bearer wrong wrong wrong wrong"]).status, 401);
    assert_eq!(ask(&page, "GET /", &[BASIC]).status, 200);
    assert_eq!(ask(&page, "GET /", &[&format!("Authorization: Bearer {TOKEN}")]).status, 200);
    assert_eq!(ask(&page, "GET /healthz", &[]).status, 200, "it says nothing of anybody");
    page.says("the page was refused to 127.0.0.1");
    assert_eq!(page.count("the page was refused"), 1, "once in a minute, however often it is tried");
    assert!(!page.log().iter().any(|line| line.contains("wrong") || line.contains("correct")), "{:?}", page.log());
}

#[test]
fn a_token_may_be_kept_in_a_file_and_one_of_the_daemon_guards_the_page_alone() {
    let world = World::new(On::Sqlite);
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("token");
    std::fs::write(&file, format!("{TOKEN}\n")).expect("a file");
    let program = daemon(&world.url, NEVER, ["--page", "on"]).env("SWEEP_PAGE_TOKEN_FILE", &file);
    let daemon = Daemon::start(program);
    assert_eq!(daemon.answers("/readyz", 200), "ok\n");
    assert_eq!((ask(&daemon, "GET /metrics", &[]).status, ask(&daemon, "GET /", &[]).status), (200, 401));
    assert_eq!(ask(&daemon, "GET /", &[BASIC]).status, 200);
}

#[test]
fn behind_a_proxy_it_is_for_those_whom_the_proxy_names() {
    let world = World::new(On::Sqlite);
    let proxied = Daemon::start(page(&world.url, ["--page-proxy", "127.0.0.1"]));
    assert_eq!(ask(&proxied, "GET /", &[]).status, 403);
    assert_eq!(ask(&proxied, "GET /", &["X-Forwarded-User: "]).status, 403);
    assert_eq!(ask(&proxied, "GET /", &["X-Forwarded-User: ada", "X-Forwarded-User: eve"]).status, 403);
    assert_eq!(ask(&proxied, "GET /", &["X-Forwarded-User: ada"]).status, 200);

    let of_another = Daemon::start(page(&world.url, ["--page-proxy", "10.0.0.7"]));
    assert_eq!(ask(&of_another, "GET /", &["X-Forwarded-User: ada"]).status, 403);
    let open = served(&world.url);
    assert_eq!(ask(&open, "GET /", &["X-Forwarded-User: ada"]).status, 200, "negative control: nobody has to say it");
}

#[test]
fn elsewhere_it_is_asked_for_by_an_address_or_a_name_that_is_set() {
    let world = World::new(On::Sqlite);
    let arguments = ["page", "--database", &world.url, "--http", "0.0.0.0:0", "--page-host", "board.example"];
    let elsewhere = Daemon::start(sweep(arguments).env("SWEEP_PAGE_TOKEN", TOKEN));
    let port =
        elsewhere.says("HTTP on ").split("0.0.0.0:").nth(1).and_then(|rest| rest.split(':').next()).map(str::to_owned);
    let port: u16 = port.and_then(|port| port.parse().ok()).expect("a port");
    let status = |host: &str| {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        std::io::Write::write_all(&mut stream, format!("GET / HTTP/1.1\r\n{host}{BASIC}\r\n\r\n").as_bytes())
            .expect("sent");
        std::io::read_to_string(stream).expect("an answer").split(' ').nth(1).map(str::to_owned).expect("a status")
    };
    for host in ["Host: 127.0.0.1:1\r\n", "Host: [::1]\r\n", "Host: Board.Example:443\r\n"] {
        assert_eq!(status(host), "200", "{host}");
    }
    for host in ["Host: evil.example\r\n", "Host: localhost\r\n", "Host: board.example.evil\r\n"] {
        assert_eq!(status(host), "421", "{host}");
    }
    assert_eq!((status(""), status("Host: 127.0.0.1\r\nHost: 127.0.0.1\r\n")), ("400".into(), "400".into()));
}

/// Its name leads to this machine, and the browser takes what it reads for the page's own.
#[test]
fn a_web_page_whose_name_leads_to_this_machine_reads_nothing() {
    let world = World::new(On::Sqlite);
    let page = Daemon::start(page(&world.url, ["--page-host", "board.example"]));
    for (host, status) in [("rebound.example:9464", 421), ("10.0.0.1", 421), ("board.example", 200), ("[::1]:1", 200)] {
        let answer = ask_for(&page, "GET /", &[&format!("Host: {host}")]);
        assert_eq!((answer.status, answer.body.contains("native")), (status, status == 200), "{host}");
    }
}
