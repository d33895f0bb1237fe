//! Mail, at a real server: over TLS whose certificate is verified, as one mail that is the same at each attempt, and
//! with text of others nowhere but in its text.

use rstest::rstest;
use serde_json::json;
use sweep::notify::Delivered;

use crate::support::mail::MailServer;
use crate::support::planted::quoted as in_sql;
use crate::support::program::sweep;
use crate::support::world::notifications::deliver;
use crate::support::world::{On, World};

const LOGIN: &str = "user:hunter2%3A%201@";

#[rstest]
#[case::tls("tls", "smtps", LOGIN)]
#[case::starttls("starttls", "smtp", LOGIN)]
fn a_password_goes_to_a_server_whose_certificate_is_trusted(
    #[case] mode: &str,
    #[case] scheme: &str,
    #[case] login: &str,
) {
    let mut server = MailServer::new(mode);
    let url = server.url(scheme, login, "ops@sweep.example");
    let test = |url: &str| sweep(["notify", "test"]).env("SWEEP_EMAIL_URL", url);

    let trusting = test(&url).env("SSL_CERT_FILE", server.certificate()).run().done();
    assert_eq!(trusting.out, "email: delivered\n");
    let taken = server.next();
    assert_eq!((&taken["tls"], &taken["user"]), (&json!(true), &json!(true)), "{taken}");

    let distrusting = test(&url).run();
    assert!(distrusting.out.contains("email: failed: TLS: ") && distrusting.out.contains("certificate verify failed"));
    let by_address = test(&url.replace("@localhost:", "@127.0.0.1:")).env("SSL_CERT_FILE", server.certificate()).run();
    assert!(by_address.out.contains("email: failed: TLS: "), "{by_address}");
    let wrong = test(&url.replace("user:", "other:")).env("SSL_CERT_FILE", server.certificate()).run();
    assert_eq!(wrong.out, "email: failed: SMTP 535: the user or the password is refused\n");
    for ran in [distrusting, by_address, wrong] {
        assert!(ran.code == 69 && !format!("{ran}").contains("hunter2"), "{ran}");
    }
    assert!(server.rest().is_empty());
}

#[test]
fn what_stands_behind_the_answer_to_starttls_is_no_answer() {
    let server = MailServer::new("injected");
    let url = server.url("smtp", LOGIN, "550@sweep.example");
    let ran = sweep(["notify", "test"]).env("SWEEP_EMAIL_URL", url).env("SSL_CERT_FILE", server.certificate()).run();
    assert!(ran.out.starts_with("email: failed: TLS: "), "{ran}");
    assert!(server.rest().is_empty());
}

#[test]
fn nothing_is_sent_with_a_password_to_a_server_that_offers_no_tls() {
    let server = MailServer::new("login");
    let url = server.url("smtp", LOGIN, "ops@sweep.example");
    let ran = sweep(["notify", "test"]).env("SWEEP_EMAIL_URL", url).run();
    assert_eq!(ran.out, "email: failed: it offers no STARTTLS, without which nothing is sent\n");
    assert!(server.rest().is_empty());
}

#[test]
fn a_mail_is_plain_text_and_no_title_is_a_header() {
    let (mut world, mut server) = (World::new(On::Sqlite), MailServer::new("plain"));
    let url = server.url("smtp", "", "ops@sweep.example,second%2Bline@sweep.example");
    let settings = world.notifying(&[("SWEEP_EMAIL_URL", &url)]);
    let step = world.escalation();
    let title = "Ünïcode\r\nBcc: evil@example.com\r\n\r\n.\r\nQUIT";
    world.run(&format!("update plans set title = {}", in_sql(title)));
    world.set("plan_steps", &step, &format!("title = {}", in_sql(title)));
    world.sweep_as(&settings.sweep);

    assert_eq!(deliver(&settings), Delivered { delivered: 1, ..Delivered::default() });

    let taken = server.next();
    let mail = taken["mail"].as_str().expect("a mail");
    let (head, text) = mail.split_once("\r\n\r\n").expect("a head and a text");
    assert_eq!(taken["to"], json!(["ops@sweep.example", "second+line@sweep.example"]));
    let id = world.text("id", "notifications").expect("an id");
    for header in [
        "From: \"Sweep\" <from@sweep.example>",
        &format!("Message-ID: <{id}@sweep.example>"),
        "Auto-Submitted: auto-generated",
        "Content-Type: text/plain; charset=utf-8",
        "To: ops@sweep.example, second+line@sweep.example",
    ] {
        let is_there = head.lines().any(|line| line.replace('"', "") == header.replace('"', ""));
        assert!(is_there, "{header}: {head}");
    }
    assert!(head.contains("\r\nSubject: ") && !head.to_lowercase().contains("\nbcc"), "{head}");
    assert!(!text.contains("\r\nBcc") && !text.contains("\n.\r"), "{text}");
    assert!(server.rest().is_empty());
}

#[test]
fn a_mail_that_is_put_off_is_sent_again_and_one_that_is_refused_does_not_hold_up_the_next() {
    for (to, why, is_down) in [("250.451", "SMTP 451", true), ("450", "SMTP 450", true), ("550", "SMTP 550", false)] {
        let (mut world, server) = (World::new(On::Sqlite), MailServer::new("plain"));
        let url = server.url("smtp", "", &format!("{to}@sweep.example"));
        let settings = world.notifying(&[("SWEEP_EMAIL_URL", &url)]);
        (0..2).for_each(|_| drop(world.escalation()));
        world.sweep_as(&settings.sweep);
        let failed = if is_down { 1 } else { 2 };
        assert_eq!(deliver(&settings), Delivered { failed, ..Delivered::default() }, "{to}");
        let error = world.text("max(last_error)", "notifications").expect("an error");
        assert_eq!(error, why, "what a server says could repeat the password");
    }
}

#[test]
fn a_mail_is_the_same_at_each_attempt() {
    let (mut world, mut server) = (World::new(On::Sqlite), MailServer::new("plain"));
    let settings = world.notifying(&[("SWEEP_EMAIL_URL", &server.url("smtp", "", "ops@sweep.example"))]);
    world.escalation();
    world.sweep_as(&settings.sweep);
    let id = |mail: &str| mail.lines().find(|line| line.starts_with("Message-ID")).map(str::to_owned);
    let mut sent = || {
        assert_eq!(deliver(&settings).delivered, 1);
        let mail = server.next()["mail"].as_str().expect("a mail").to_owned();
        world.run("update notifications set delivered_at = null");
        world.retry();
        mail
    };
    let (first, second) = (sent(), sent());
    assert!(id(&first).is_some() && id(&first) == id(&second), "{first}{second}");
    let text = |mail: &str| mail.split_once("\r\n\r\n").map(|(_, text)| text.to_owned());
    assert_eq!(text(&first), text(&second));
}
