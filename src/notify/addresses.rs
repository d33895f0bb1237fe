//! Which addresses a destination may have: those of the network that its URL names, and never what only this machine
//! can reach.
//!
//! The operator configures a URL, but somebody else decides what its name resolves to; so addresses are judged again at
//! each connection.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ureq::http::Uri;

/// Parses a URL whose host may be connected to; true if that is this machine.
///
/// # Errors
/// What is wrong with the URL, without the URL itself.
pub fn checked(url: &str, expected: &str, private: bool) -> Result<(Uri, bool), String> {
    let uri: Uri = url.parse().map_err(|_| format!("malformed: {expected}"))?;
    let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| format!("no host: {expected}"))?;
    if !has_a_port_or_none(&uri, host) {
        return Err("its port is no number from 1 to 65535".to_owned());
    }
    let is_local = names_this_machine(host);
    match literal(host) {
        Some(address) if !is_allowed(address, is_local, private) => {
            Err(if !private && is_allowed(address, is_local, true) { PRIVATE } else { UNREACHABLE }.to_owned())
        }
        _ => Ok((uri, is_local)),
    }
}

/// Those of the addresses of a name that may be connected to.
///
/// # Errors
/// Why none of them may.
pub fn allowed(
    found: impl Iterator<Item = SocketAddr>,
    is_local: bool,
    private: bool,
) -> Result<Vec<SocketAddr>, &'static str> {
    let found: Vec<SocketAddr> = found.collect();
    let allowed = |private| found.iter().copied().filter(move |address| is_allowed(address.ip(), is_local, private));
    let those: Vec<SocketAddr> = allowed(private).collect();
    match (those.is_empty(), allowed(true).next(), is_local) {
        (false, ..) => Ok(those),
        (true, Some(_), _) => Err(PRIVATE),
        (true, None, true) => Err("localhost is not this machine"),
        (true, None, false) => Err("its address is this machine's, link-local, multicast, unspecified or reserved"),
    }
}

pub const PRIVATE: &str = "its address is in a private network: SWEEP_NOTIFY_PRIVATE=on allows that";
const UNREACHABLE: &str = "its address is link-local, multicast, unspecified or reserved";

/// Whether the port is valid or absent; an invalid one would be ignored, and the usual port connected to.
fn has_a_port_or_none(uri: &Uri, host: &str) -> bool {
    let host_and_port = uri.authority().and_then(|authority| authority.as_str().rsplit('@').next());
    host_and_port == Some(host) || uri.port_u16().is_some_and(|port| port != 0)
}

/// The address, if the host of a URL is one.
fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

pub fn names_this_machine(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let name = host.trim_end_matches('.');
    name == "localhost" || name.ends_with(".localhost") || literal(name).is_some_and(|address| address.is_loopback())
}

/// The network in which an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AddressScope {
    /// The internet.
    Public,
    /// A private network, also between a provider and its customers.
    Private,
    /// This machine.
    Loopback,
    /// No possible receiver: link-local (a cloud's metadata), multicast, unspecified, reserved.
    Reserved,
}

impl AddressScope {
    fn of(address: IpAddr) -> AddressScope {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }
}

fn of_v4(address: Ipv4Addr) -> AddressScope {
    match address.octets() {
        [127, ..] => AddressScope::Loopback,
        [0, ..] | [169, 254, ..] | [192, 0, 0, _] | [224..=255, ..] => AddressScope::Reserved,
        // The metadata of Alibaba; that of Oracle is within 192.0.0.0/24. Azure's wire server hands out the machine's
        // secrets from an address that looks public.
        [100, 100, 100, 200] | [168, 63, 129, 16] => AddressScope::Reserved,
        // Documentation, benchmarks, and the former relays of 6to4.
        [192, 0, 2, _] | [198, 18..=19, ..] | [198, 51, 100, _] | [203, 0, 113, _] | [192, 88, 99, _] => {
            AddressScope::Reserved
        }
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => AddressScope::Private,
        _ => AddressScope::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> AddressScope {
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        of_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressScope::Loopback,
        segments if is_metadata(segments) => AddressScope::Reserved,
        // An address of IPv4 inside one of IPv6: mapped, translated (NAT64), 6to4.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x0064, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            embedded(high, low)
        }
        [0xfc00..=0xfdff, ..] => AddressScope::Private,
        // Site-local, which is deprecated, was private.
        [0xfec0..=0xfeff, ..] => AddressScope::Private,
        // Global addresses are public, but for those of protocols (Teredo, benchmarks) and documentation.
        [0x2001, 0..=0x01ff, ..] | [0x2001, 0x0db8, ..] | [0x3fff, ..] => AddressScope::Reserved,
        [0x2000..=0x3fff, ..] => AddressScope::Public,
        _ => AddressScope::Reserved,
    }
}

/// Addresses of a cloud's metadata and other services for the machine alone, in ranges that are private otherwise.
fn is_metadata(segments: [u16; 8]) -> bool {
    match segments {
        // AWS: metadata, credentials of pods, names, time.
        [0xfd00, 0x0ec2, ..] => true,
        // Google, Oracle.
        [0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x254] | [0xfd00, 0x00c1, 0, 0, 0, 0, 0xa9fe, 0xa9fe] => true,
        // Scaleway, Akamai, Alibaba.
        [0xfd00, 0x0042, 0, 0, 0, 0, 0, 0x42] | [0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 1] => true,
        [0xfd00, 0x0100, 0, 0, 0, 0, 0x0100, 0x0200] => true,
        _ => false,
    }
}

/// Whether an address may be connected to: `is_local` if the URL names this machine, `private` if that is allowed.
fn is_allowed(address: IpAddr, is_local: bool, private: bool) -> bool {
    match AddressScope::of(address) {
        AddressScope::Loopback => is_local,
        AddressScope::Public => !is_local,
        AddressScope::Private => !is_local && private,
        AddressScope::Reserved => false,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{AddressScope, is_allowed};

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
}
