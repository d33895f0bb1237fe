use rstest::rstest;

use super::{MailRoute, MailTls};

#[rstest]
#[case("smtps://u:p@mail.example/?from=a@b.example&to=c@d.example", MailTls::Implicit, 465)]
#[case("smtp://u:p@mail.example/?from=a@b.example&to=c@d.example", MailTls::StartTls, 587)]
#[case("smtp://mail.example:2525/?from=a@b.example&to=c@d.example", MailTls::StartTls, 2525)]
#[case("smtp://u:p@localhost/?from=a@b.example&to=c@d.example", MailTls::StartTls, 587)]
#[case("smtp://localhost/?from=a@b.example&to=c@d.example", MailTls::Plain, 25)]
#[case("smtps://[::1]:4650?from=a@b.example&to=c@d.example&to=e@f.example", MailTls::Implicit, 4650)]
fn only_mail_without_a_password_to_this_machine_goes_without_tls(
    #[case] url: &str,
    #[case] tls: MailTls,
    #[case] port: u16,
) {
    let route = MailRoute::parse(url, false).unwrap_or_else(|why| panic!("{url}: {why}"));
    assert_eq!((route.tls, route.port), (tls, port), "{url}");
}

#[rstest]
#[case("https://u:hunter2@mail.example/?from=a@b.example&to=c@d.example", "expected smtps://")]
#[case("smtps://hunter2@mail.example/?from=a@b.example&to=c@d.example", "a user and no password; expected")]
#[case("smtps://u:hunter2@mail.example/?to=c@d.example", "not one address behind from")]
#[case("smtps://u:hunter2@mail.example/?from=a@b.example,x@b.example&to=c@d.example", "not one address behind from")]
#[case("smtps://u:hunter2@mail.example/?from=a@b.example", "no address behind to")]
#[case("smtps://u:hunter2@mail.example/?from=a@b.example&to=hunter2", "no e-mail address")]
#[case("smtps://u:hunter2@mail.example/?from=a@b.example&to=c@d.example%0D%0ARCPT%20TO:x@y.example", "malformed")]
#[case("smtps://u:hunter2%0D%0AX@mail.example/?from=a@b.example&to=c@d.example", "malformed")]
#[case("smtps://u:hunter2@mail.example/?from=a@b.example&to=c@d.example&verify=no", "something else than from and to")]
#[case("smtps://u:hunter2@10.0.0.1/?from=a@b.example&to=c@d.example", "SWEEP_NOTIFY_PRIVATE=on")]
#[case("smtp://u:hunter2@169.254.169.254/?from=a@b.example&to=c@d.example", "link-local")]
#[case("smtps://u:hunter2@mail.example:0/?from=a@b.example&to=c@d.example", "its port is no number")]
fn any_other_url_is_refused_without_being_repeated(#[case] url: &str, #[case] says: &str) {
    let why = MailRoute::parse(url, false).err().expect("a refusal");
    assert!(why.contains(says) && !why.contains("hunter2"), "{url}: {why}");
}
