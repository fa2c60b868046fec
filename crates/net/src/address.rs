//! Which addresses are public. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is none that an agent may ask unless its owner says so; `None` for a public one.
///
/// After the IANA registries of special-purpose addresses (RFC 6890 and what followed it). Forms of IPv6 that carry an
/// IPv4 address are refused whole, but for NAT64 with its well-known prefix (RFC 6052), by which machines without IPv4
/// reach public servers: there the address that is carried counts.
pub fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => not_public_v4(address),
        IpAddr::V6(address) => not_public_v6(address),
    }
}

fn not_public_v4(address: Ipv4Addr) -> Option<&'static str> {
    Some(match address.octets() {
        [0, ..] => "an address of \"this network\"",
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => "a private address",
        [100, 64..=127, ..] => "an address of a provider's inner network",
        [127, ..] => "a loopback address",
        // Clouds give machines their credentials here.
        [169, 254, ..] => "a link-local address, where clouds keep metadata",
        [168, 63, 129, 16] => "the metadata address of a cloud",
        [192, 0, 0, _] => "an address for protocols",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "an address for documentation",
        [192, 88, 99, _] => "a 6to4 relay",
        [198, 18 | 19, ..] => "an address for benchmarks",
        [224..=239, ..] => "a multicast address",
        [240..=255, ..] => "a reserved address",
        _ => return None,
    })
}

fn not_public_v6(address: Ipv6Addr) -> Option<&'static str> {
    Some(match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => "the unspecified address",
        [0, 0, 0, 0, 0, 0, 0, 1] => "a loopback address",
        [0, 0, 0, 0, 0, 0xffff, ..] => "an IPv4 address written as IPv6",
        [0, 0, 0, 0, 0xffff, 0, ..] | [0, 0, 0, 0, 0, 0, ..] => "an IPv4 address written as IPv6",
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            let [a, b] = high.to_be_bytes();
            let [c, d] = low.to_be_bytes();
            return not_public_v4(Ipv4Addr::new(a, b, c, d));
        }
        [0x64, 0xff9b, ..] => "an address of a local translator",
        [0xfc00..=0xfdff, ..] => "a private address",
        [0xfe80..=0xfebf, ..] => "a link-local address",
        [0xfec0..=0xfeff, ..] => "a site-local address",
        [0xff00..=0xffff, ..] => "a multicast address",
        // 2001::/23 holds Teredo, benchmarks and identifiers that are no addresses.
        [0x2001, 0..=0x1ff, ..] => "an address for protocols, such as Teredo's",
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => "an address for documentation",
        [0x2002, ..] => "a 6to4 address",
        [0x2000..=0x3fff, ..] => return None,
        _ => "an address that nobody was given",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        let public = [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "192.169.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:200::1",
            "2a00:1450:4001:82a::200e",
            "64:ff9b::808:808",
        ];
        let not = [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::8.8.8.8",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::ffff:0:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::808:808",
            "100::1",
            "2001::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:20::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff:fff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ];
        let judged = |list: &[&str]| -> Vec<bool> {
            list.iter().map(|text| not_public(text.parse().unwrap()).is_none()).collect()
        };
        assert_eq!(judged(&public), [true; 18]);
        assert_eq!(judged(&not), [false; 46]);
    }
}
