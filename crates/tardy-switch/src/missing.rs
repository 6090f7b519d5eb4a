//! Explains the kernel's refusals: what is missing, and how to provide it.

use tardy_sys::netlink::NetlinkError;

/// A message for the user about a refusal: its subject, the kernel's message and the remedy.
pub(super) fn explained(about: &str, error: &NetlinkError) -> String {
    let advice = advice(about, error);
    if advice.is_empty() { format!("{about}: {error}") } else { format!("{about}: {error}; {advice}") }
}

/// Features that a kernel may lack, with their option and module.
const KINDS: [(&str, &str, &str); 4] = [
    ("shaper", "CONFIG_NET_SCH_TAPRIO", "sch_taprio"),
    ("bridge", "CONFIG_BRIDGE", "bridge"),
    ("VLAN", "CONFIG_BRIDGE_VLAN_FILTERING", "bridge"),
    ("veth", "CONFIG_VETH", "veth"),
];

/// The kernel's messages, each with its remedy.
const REMEDIES: [(&str, &str); 8] = [
    (
        "Multi-queue device is required",
        "a veth has several queues if created with 'numtxqueues N numrxqueues N', a network card if its driver supports them (ethtool -l)",
    ),
    (
        "greater than number of HW queues",
        "give the port more queues (ethtool -L), or define fewer classes in the file",
    ),
    ("exceed the", "name queues that the port has (ethtool -l shows how many)"),
    (
        "Invalid interval for schedule entry",
        "an entry must be longer than the shortest frame at the link's speed, which the kernel takes as 10 Mbit/s if it is unknown; 'tardy tsn check' shows the entry",
    ),
    ("Can only be attached as root qdisc", "remove the other queueing discipline first"),
    ("PTP clock", "flags = 2 requests gates in hardware, which this device does not have; omit it"),
    ("of a running schedule is not supported", "remove the switch first: tardy tsn remove"),
    ("'clockid' is mandatory", "set clock = \"tai\" in the file"),
];

fn advice(about: &str, error: &NetlinkError) -> String {
    if error.is_forbidden() {
        return "changing the network requires root, or the capability CAP_NET_ADMIN".to_owned();
    }
    let words = error.explanation.as_deref().unwrap_or("");
    if let Some((_, advice)) = REMEDIES.iter().find(|(known, _)| words.contains(known)) {
        return (*advice).to_owned();
    }
    let kind = KINDS.iter().find(|(kind, ..)| about.contains(kind)).filter(|_| error.is_unknown_kind());
    kind.map_or_else(String::new, |(_, option, module)| {
        format!(
            "this kernel lacks {option}, or its module is not loaded ('modprobe {module}'); 'tardy lab run FILE' runs it on kernels that have the option"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    fn refusal(number: i32, words: Option<&str>) -> NetlinkError {
        NetlinkError { source: io::Error::from_raw_os_error(number), explanation: words.map(str::to_owned) }
    }

    #[test]
    fn the_kernels_message_comes_first_and_the_remedy_last() {
        let text = explained("shaper of p1", &refusal(95, Some("Multi-queue device is required")));
        assert!(text.starts_with("shaper of p1: Multi-queue device is required"), "{text}");
        assert!(text.contains("numtxqueues"), "{text}");
    }

    #[test]
    fn a_missing_feature_is_named() {
        let text = explained("shaper of p1", &refusal(2, Some("Specified qdisc kind is unknown")));
        assert!(text.contains("CONFIG_NET_SCH_TAPRIO") && text.contains("modprobe sch_taprio"), "{text}");
        assert!(explained("bridge br0", &refusal(95, Some("Unknown device type"))).contains("CONFIG_BRIDGE"));
        assert!(explained("bridge br0", &refusal(1, None)).contains("CAP_NET_ADMIN"));
    }
}
