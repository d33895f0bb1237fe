use rstest::rstest;
use secrecy::ExposeSecret;
use std::time::Duration;

use super::{HttpClient, Target};
use crate::notify::addresses::PRIVATE;

#[rstest]
#[case("https://hooks.example/x")]
#[case("https://hooks.example:8443/x?a=b")]
#[case("http://localhost:8080/x")]
#[case("http://sweep.localhost/x")]
#[case("http://127.0.0.1/x")]
#[case("http://[::1]:8080/x")]
#[case("https://1.1.1.1/x")]
#[case("https://1.1.1.1:65535/x")]
#[case("https://[2606:4700::1111]/x")]
fn a_destination_is_https_or_this_machine(#[case] url: &str) {
    assert!(Target::parse(url, false).is_ok(), "{url}");
}

#[rstest]
#[case("http://hooks.example/hunter2", "http:// is for this machine only")]
#[case("http://localhost.example/hunter2", "http:// is for this machine only")]
#[case("http://localhost@hooks.example/hunter2", "http:// is for this machine only")]
#[case("http://127.0.0.1:80@hooks.example/hunter2", "http:// is for this machine only")]
#[case("http://127.0.0.1.example/hunter2", "http:// is for this machine only")]
#[case("ftp://hooks.example/hunter2", "expected https://HOST/…")]
#[case("hooks.example/hunter2", "malformed")]
#[case("https:///hunter2", "malformed")]
#[case("/hunter2", "no host")]
#[case("hunter2 and more", "malformed")]
#[case("https://hooks.example/\nhunter2", "malformed")]
#[case("https://10.0.0.1/hunter2", "SWEEP_NOTIFY_PRIVATE=on")]
#[case("https://[fd00::1]/hunter2", "SWEEP_NOTIFY_PRIVATE=on")]
#[case("https://[::ffff:10.0.0.1]/hunter2", "SWEEP_NOTIFY_PRIVATE=on")]
#[case("https://169.254.169.254/hunter2", "link-local")]
#[case("https://hooks.example:65536/hunter2", "its port is no number from 1 to 65535")]
#[case("https://hooks.example:0/hunter2", "its port is no number")]
#[case("https://hooks.example:/hunter2", "its port is no number")]
#[case("https://hunter2:hunter2/", "its port is no number")]
#[case("https://app:80@hooks.example:hunter2/", "its port is no number")]
#[case("https://[2606:4700::1111]:70000/hunter2", "its port is no number")]
fn any_other_is_refused_without_being_repeated(#[case] url: &str, #[case] says: &str) {
    let why = Target::parse(url, false).err().expect("a refusal");
    assert!(why.contains(says) && !why.contains("hunter2"), "{url}: {why}");
}

#[test]
fn private_addresses_can_be_allowed_and_a_cloud_s_metadata_cannot() {
    assert!(Target::parse("https://10.0.0.1/", true).is_ok());
    assert!(Target::parse("https://169.254.169.254/", true).is_err());
}

/// These forms of addresses are names to a parser of URLs, and are checked when they are resolved.
#[rstest]
#[case("https://2130706433/", "its address is this machine's")]
#[case("https://127.1/", "its address is this machine's")]
#[case("https://0/", "its address is this machine's")]
#[case("https://167772161/", PRIVATE)]
#[case("https://0xa9fea9fe/", "its address is this machine's")]
fn an_address_in_disguise_is_not_connected_to(#[case] url: &str, #[case] says: &str) {
    let target = Target::parse(url, false).expect("a target");
    let failure = HttpClient::new(Duration::from_secs(5)).get(&target).expect_err("a refusal");
    assert!(failure.why.contains(says), "{url}: {}", failure.why);
}

#[rstest]
#[case("https://hc.example/uuid", "https://hc.example/uuid/start")]
#[case("https://hc.example/uuid/", "https://hc.example/uuid/start")]
#[case("https://hc.example/uuid?create=1", "https://hc.example/uuid/start?create=1")]
#[case("https://hc.example", "https://hc.example/start")]
#[case("https://hc.example/uuid#top", "https://hc.example/uuid/start")]
fn a_segment_goes_before_the_query(#[case] url: &str, #[case] expected: &str) {
    let target = Target::parse(url, false).expect("a target");
    assert_eq!(target.below("start").url.expose_secret(), expected);
}
