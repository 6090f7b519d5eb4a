//! By which names the server may be asked. A page of another site whose name an attacker leads to this machine (DNS rebinding) has
//! that name in its requests, and is refused.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::answer::Refusal;
use axum::http::StatusCode;

/// Refuses a request that was sent to a name that is not this server's. Addresses in numbers are always permitted: nobody else can
/// lead them here.
pub(crate) fn check(host: Option<&str>, names: &[String]) -> Result<String, Refusal> {
    let Some(host) = host else { return Err(Refusal::wrong("the request has no header 'Host'")) };
    let name = match host.parse::<SocketAddr>() {
        Ok(_) => return Ok(host.to_owned()),
        Err(_) => host
            .rsplit_once(':')
            .filter(|(_, port)| port.parse::<u16>().is_ok())
            .map_or(host, |(name, _)| name),
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    let is_known = bare.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || names.iter().any(|known| known.eq_ignore_ascii_case(name));
    match is_known {
        true => Ok(host.to_owned()),
        false => Err(Refusal::new(
            StatusCode::MISDIRECTED_REQUEST,
            "this server was not told that it has this name; start it with --host NAME",
        )),
    }
}

/// The address by which senders are counted. Every user of this machine has all of its own addresses, and a host with IPv6 has a network
/// of them: those count as one.
pub(crate) fn group(peer: IpAddr) -> IpAddr {
    /// The part of an address of IPv6 that names the network.
    const NETWORK: u128 = !0 << 64;
    match peer {
        IpAddr::V4(four) if four.is_loopback() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V4(_) => peer,
        IpAddr::V6(six) if six.is_loopback() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(six) => match six.to_ipv4_mapped() {
            Some(four) => group(four.into()),
            None => Ipv6Addr::from_bits(six.to_bits() & NETWORK).into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_here_are_permitted() {
        let names = ["latency.example.org".to_owned()];
        for host in [
            "127.0.0.1:8080",
            "[::1]:8080",
            "[::1]",
            "10.0.0.1",
            "localhost",
            "LOCALHOST:1",
            "latency.example.org:443",
        ] {
            assert!(check(Some(host), &names).is_ok(), "{host}");
        }
        for host in ["evil.example", "evil.example:8080", "latency.example.org.evil.example", ""] {
            assert!(check(Some(host), &names).is_err(), "{host}");
        }
        assert!(check(None, &names).is_err());
    }
    #[test]
    fn addresses_that_one_sender_can_choose_from_are_one() {
        let of = |text: &str| group(text.parse().unwrap()).to_string();
        for here in ["127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.2"] {
            assert_eq!(of(here), "127.0.0.1", "{here}");
        }
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), of("2001:db8:1:2::1"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
        assert_eq!(of("::ffff:10.0.0.1"), "10.0.0.1");
    }
}
