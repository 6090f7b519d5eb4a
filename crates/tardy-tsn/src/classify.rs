//! The classifier of a switch for three programs: nft, tc and iptables.
//!
//! nft's bridge family is preferred: it needs no br_netfilter and matches the tag that the kernel has removed from the frame.
//! tc's flower with skbedit, on the egress of each port, is the second choice. iptables is the last choice: through
//! br_netfilter it sees only bridged IPv4, and never a tag.

use std::fmt::Write;

use crate::network::Marks;
use crate::settings::{ClassifierRule, Settings};

const ETHERTYPE_IPV4: u16 = 0x0800;

/// The nft table of a bridge's classifier.
pub fn nft_table(bridge: &str) -> String {
    format!("tardy_{}", bridge.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_"))
}

/// A script for `nft -f -` that replaces the classifier in one transaction.
pub fn nft(settings: &Settings) -> String {
    let table = nft_table(&settings.bridge.name);
    let ports: Vec<String> = settings.ports.iter().map(|port| format!("\"{}\"", port.interface)).collect();
    let mut script =
        format!("table bridge {table} {{\n}}\ndelete table bridge {table}\ntable bridge {table} {{\n");
    script.push_str(" chain classify {\n  type filter hook postrouting priority 0; policy accept;\n");
    let _ = writeln!(script, "  oifname != {{ {} }} accept", ports.join(", "));
    for rule in &settings.classifiers {
        for conditions in nft_conditions(&rule.matches) {
            let _ = writeln!(script, "  {conditions} meta priority set 0:{:x} accept", rule.priority & 15);
        }
    }
    script.push_str(" }\n}\n");
    script
}

/// The conditions of a rule: one line for each form of a matching frame, with and without a tag, in IPv4 and IPv6.
fn nft_conditions(marks: &Marks) -> Vec<String> {
    let mut common = String::new();
    if let Some(mac) = &marks.source_mac {
        let _ = write!(common, "ether saddr {} ", format_mac(mac));
    }
    if let Some(mac) = &marks.destination_mac {
        let _ = write!(common, "ether daddr {} ", format_mac(mac));
    }
    if let Some(vlan) = marks.vlan {
        let _ = write!(common, "vlan id {vlan} ");
    }
    if let Some(pcp) = marks.pcp {
        let _ = write!(common, "vlan pcp {pcp} ");
    }
    let tag_kinds: &[&str] =
        if marks.vlan.is_some() || marks.pcp.is_some() { &["vlan"] } else { &["vlan", "ether"] };
    let upper = |family: &str| {
        let mut conditions = String::new();
        if let Some(dscp) = marks.dscp {
            let _ = write!(conditions, " {family} dscp {dscp}");
        }
        if let Some(port) = marks.udp_port {
            let _ = write!(conditions, " udp dport {port}");
        }
        if let Some(port) = marks.tcp_port {
            let _ = write!(conditions, " tcp dport {port}");
        }
        conditions
    };
    if is_of_ip(marks) {
        let families = tag_kinds.iter().flat_map(|kind| ["ip", "ip6"].map(|family| (kind, family)));
        return families
            .map(|(kind, family)| format!("{common}{kind} type {family}{}", upper(family)))
            .collect();
    }
    match marks.ethertype {
        Some(ethertype) => {
            tag_kinds.iter().map(|kind| format!("{common}{kind} type {ethertype:#06x}")).collect()
        }
        None => vec![common.trim_end().to_owned()],
    }
}

fn is_of_ip(marks: &Marks) -> bool {
    marks.dscp.is_some() || marks.udp_port.is_some() || marks.tcp_port.is_some()
}

/// The commands for `tc`, line by line, that put the classifier on the egress of every port; the port must have a
/// `clsact`.
pub fn flower(settings: &Settings) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    for port in settings.ports.iter().filter(|port| port.taprio.is_some()) {
        let ways = settings.classifiers.iter().flat_map(|rule| {
            flower_ways(&rule.matches)
                .into_iter()
                .map(move |(protocol, options)| (protocol, options, rule.priority))
        });
        for (index, (protocol, options, priority)) in ways.enumerate() {
            let line = format!(
                "filter add dev {} egress pref {} protocol {protocol} flower {options}action skbedit priority {priority}",
                port.interface,
                index + 1,
            );
            lines.push(line.split_whitespace().map(str::to_owned).collect());
        }
    }
    lines
}

/// For each form of a matching frame: the protocol and flower's keys.
fn flower_ways(marks: &Marks) -> Vec<(String, String)> {
    let mut common = String::new();
    if let Some(mac) = &marks.source_mac {
        let _ = write!(common, "src_mac {} ", format_mac(mac));
    }
    if let Some(mac) = &marks.destination_mac {
        let _ = write!(common, "dst_mac {} ", format_mac(mac));
    }
    let mut tag = String::new();
    if let Some(vlan) = marks.vlan {
        let _ = write!(tag, "vlan_id {vlan} ");
    }
    if let Some(pcp) = marks.pcp {
        let _ = write!(tag, "vlan_prio {pcp} ");
    }
    let mut upper = String::new();
    if let Some(port) = marks.udp_port {
        let _ = write!(upper, "ip_proto udp dst_port {port} ");
    }
    if let Some(port) = marks.tcp_port {
        let _ = write!(upper, "ip_proto tcp dst_port {port} ");
    }
    if let Some(dscp) = marks.dscp {
        let _ = write!(upper, "ip_tos {:#x}/0xfc ", dscp << 2);
    }
    let types: Vec<String> = match (is_of_ip(marks), marks.ethertype) {
        (true, _) => vec!["ip".to_owned(), "ipv6".to_owned()],
        (false, Some(ethertype)) => vec![format!("{ethertype:#06x}")],
        (false, None) => vec![String::new()],
    };
    let mut ways = Vec::new();
    for kind in types {
        let of_tagged = if kind.is_empty() { String::new() } else { format!("vlan_ethtype {kind} ") };
        ways.push(("802.1Q".to_owned(), format!("{tag}{of_tagged}{common}{upper}")));
        if tag.is_empty() {
            let protocol = if kind.is_empty() { "all".to_owned() } else { kind };
            ways.push((protocol, format!("{common}{upper}")));
        }
    }
    // A rule without a protocol matches tagged frames too.
    if is_of_ip(marks) || marks.ethertype.is_some() || !tag.is_empty() { ways } else { ways.split_off(1) }
}

/// The rules for `iptables -t mangle`, without the option that adds or deletes. They are in reverse order,
/// since the target CLASSIFY continues with the next rule and the last match decides.
///
/// # Errors
/// A message about a rule that iptables cannot express: by tag, address or EtherType.
pub fn iptables(settings: &Settings) -> Result<Vec<Vec<String>>, String> {
    settings.classifiers.iter().rev().map(iptables_rule).collect()
}

fn iptables_rule(rule: &ClassifierRule) -> Result<Vec<String>, String> {
    let marks = &rule.matches;
    let beyond = marks.pcp.is_some()
        || marks.vlan.is_some()
        || marks.source_mac.is_some()
        || marks.destination_mac.is_some()
        || marks.ethertype.is_some_and(|ethertype| ethertype != ETHERTYPE_IPV4);
    if beyond {
        return Err(format!(
            "iptables cannot match tags, Ethernet addresses or protocols other than IPv4, which the rule for priority {} needs",
            rule.priority
        ));
    }
    let mut options = "POSTROUTING".to_owned();
    if let Some(port) = marks.udp_port {
        let _ = write!(options, " -p udp --dport {port}");
    }
    if let Some(port) = marks.tcp_port {
        let _ = write!(options, " -p tcp --dport {port}");
    }
    if let Some(dscp) = marks.dscp {
        let _ = write!(options, " -m dscp --dscp {dscp}");
    }
    let _ = write!(options, " -j CLASSIFY --set-class 0:{:x}", rule.priority & 15);
    Ok(options.split(' ').map(str::to_owned).collect())
}

fn format_mac(mac: &[u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Bridge;
    use crate::settings::{BridgeSettings, PortSettings};

    fn settings(rules: &[(Marks, u8)]) -> Settings {
        let taprio = crate::settings::Taprio {
            num_tc: 1,
            prio_tc_map: [0; 16],
            queues: Vec::new(),
            entries: Vec::new(),
            base_time_ns: 0,
            cycle_time_ns: None,
            cycle_time_extension_ns: None,
            clockid: None,
            flags: 0,
            txtime_delay_ns: None,
            max_sdu: [0; 16],
            preemptible: 0,
            overhead: 0,
        };
        Settings {
            bridge: BridgeSettings { name: "tsn-0".to_owned(), kind: Bridge::Kernel, vlan_filtering: false },
            ports: vec![PortSettings {
                interface: "swp1".to_owned(),
                vlans: Vec::new(),
                taprio: Some(taprio),
                children: Vec::new(),
            }],
            classifiers: rules
                .iter()
                .map(|&(matches, priority)| ClassifierRule { matches, priority })
                .collect(),
        }
    }

    fn rules() -> [(Marks, u8); 4] {
        [
            (Marks { udp_port: Some(6666), ..Marks::default() }, 1),
            (Marks { pcp: Some(3), vlan: Some(5), ..Marks::default() }, 11),
            (Marks { ethertype: Some(0x88f7), ..Marks::default() }, 7),
            (Marks { dscp: Some(46), destination_mac: Some([2, 0, 0, 0, 0, 0xa]), ..Marks::default() }, 2),
        ]
    }

    #[test]
    fn every_rule_as_nft_commands() {
        insta::assert_snapshot!(nft(&settings(&rules())));
    }

    #[test]
    fn every_rule_as_tc_commands() {
        let lines: Vec<String> = flower(&settings(&rules())).iter().map(|line| line.join(" ")).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn iptables_refuses_rules_that_it_cannot_express() {
        let lines = iptables(&settings(&rules()[..1])).unwrap();
        assert_eq!(lines[0].join(" "), "POSTROUTING -p udp --dport 6666 -j CLASSIFY --set-class 0:1");
        assert!(iptables(&settings(&rules())).unwrap_err().contains("tags"));
    }
}
