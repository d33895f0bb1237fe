use rstest::rstest;
use secrecy::ExposeSecret;
use std::time::Duration;

use super::{AddressScope, HttpClient, PRIVATE, Target, is_allowed};

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

#[rstest]
#[case(AddressScope::Public,
    &["1.1.1.1", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "169.253.0.1", "223.255.255.255",
        "2606:4700::1111", "64:ff9b::101:101", "::ffff:1.1.1.1"])]
#[case(AddressScope::Private,
    &["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.127.255.255"])]
#[case(AddressScope::Private,
    &["fc00::1", "fd12:3456::1", "fec0::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::1"])]
#[case(AddressScope::Reserved,
    &["168.63.129.16", "192.88.99.1", "::ffff:168.63.129.16", "64:ff9b::a83f:8110", "2002:a83f:8110::1",
        "64:ff9b:1::a9fe:a9fe", "::ffff:0:a9fe:a9fe"])]
#[case(AddressScope::Reserved,
    &["fd00:ec2::23", "fd00:ec2::123", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:42::42", "fd00:a9fe:a9fe::1",
        "fd00:100::100:200", "fe80::a9fe:a9fe", "2001:2::1", "3fff::1"])]
#[case(AddressScope::Public, &["168.63.129.15", "168.63.129.17", "2001:200::1", "2001:4860::8888"])]
#[case(AddressScope::Private, &["fd20:ce::253", "fd00:c1::1", "fd00:42::1", "fd00:a9fe:a9fe::2", "fd00:100::1"])]
#[case(AddressScope::Loopback, &["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1", "2002:7f00:1::"])]
#[case(AddressScope::Reserved,
    &["0.0.0.0", "0.1.2.3", "169.254.169.254", "169.254.1.1", "192.0.0.192", "100.100.100.200", "224.0.0.1",
        "239.1.1.1", "240.0.0.1", "255.255.255.255"])]
#[case(AddressScope::Reserved,
    &["::", "fe80::1", "ff02::1", "fd00:ec2::254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1", "2001::1", "2001:db8::1", "::127.0.0.1", "100::1"])]
fn every_address_has_a_scope(#[case] scope: AddressScope, #[case] addresses: &[&str]) {
    for address in addresses {
        assert_eq!(AddressScope::of(address.parse().expect("an address")), scope, "{address}");
    }
}

#[rstest]
#[case("1.1.1.1", [true, true, false, false])]
#[case("10.0.0.1", [false, true, false, false])]
#[case("127.0.0.1", [false, false, true, true])]
#[case("169.254.169.254", [false, false, false, false])]
fn a_name_that_is_not_this_machine_s_never_reaches_it(#[case] address: &str, #[case] expected: [bool; 4]) {
    let address = address.parse().expect("an address");
    let allowed = [(false, false), (false, true), (true, false), (true, true)];
    assert_eq!(allowed.map(|(is_local, private)| is_allowed(address, is_local, private)), expected);
}
