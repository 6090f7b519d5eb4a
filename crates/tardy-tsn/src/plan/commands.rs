//! A switch as a shell script with ip, bridge, nft or its replacements, and tc. The script can be run as root, except
//! for a gate control list that is too long for tc.

use std::fmt::Write;

use tardy_record::gates::GateOperation;

use crate::class_queueing::{Child, ChildKind};
use crate::classify;
use crate::network::{Bridge, Clock};
use crate::settings::{PortSettings, Settings, Taprio};

/// The handle of tardy's shapers; the script replaces another program's shaper as well.
const HANDLE: &str = "7514:";

/// The program that gives frames their priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Classifying {
    /// nft's bridge family. Ports of Open vSwitch never pass it and use tc.
    #[default]
    Nft,
    /// tc's flower and skbedit on the egress of each port.
    Tc,
    /// iptables by way of br_netfilter: matches only IPv4, untagged or tagged, by port and DSCP.
    Iptables,
}

/// The whole script, with the commands that undo it at its end. `warnings` come first, as the kernel will refuse what
/// they describe.
///
/// # Errors
/// A message about a rule that the chosen program cannot express.
pub fn script(settings: &Settings, classifying: Classifying, warnings: &[String]) -> Result<String, String> {
    let mut script = "#!/bin/sh\n".to_owned();
    for line in warnings.iter().flat_map(|warning| warning.lines()) {
        let _ = writeln!(script, "# {line}");
    }
    script.push_str("set -e\n");
    bridge(settings, &mut script);
    let undo_classifier = classifier(settings, classifying, &mut script)?;
    let mut shaped = Vec::new();
    for port in &settings.ports {
        if let Some(taprio) = &port.taprio {
            shaper(port, taprio, &mut script);
            shaped.push(port);
        }
    }
    script.push_str("\n# To undo:\n");
    for port in shaped {
        let _ = writeln!(script, "#   tc qdisc del dev {} root", port.interface);
    }
    for line in undo_classifier {
        let _ = writeln!(script, "#   {line}");
    }
    let name = &settings.bridge.name;
    let _ = match settings.bridge.kind {
        Bridge::Kernel => writeln!(script, "#   ip link del dev {name}"),
        Bridge::OpenVSwitch => writeln!(
            script,
            "#   ovs-vsctl del-br {name}\n#   for record in $(ovs-vsctl --bare --columns=_uuid find qos external_ids:tardy={name}); do ovs-vsctl destroy qos $record; done"
        ),
    };
    Ok(script)
}

fn bridge(settings: &Settings, script: &mut String) {
    let name = &settings.bridge.name;
    let _ = writeln!(script, "\n# The bridge and its ports. A bridge makes its ports promiscuous.");
    match settings.bridge.kind {
        Bridge::Kernel => {
            // With VLAN filtering every membership is written out, without the bridge's defaults.
            let filtering =
                if settings.bridge.vlan_filtering { " vlan_filtering 1 vlan_default_pvid 0" } else { "" };
            let _ = writeln!(script, "ip link add name {name} type bridge mcast_snooping 0{filtering}");
            for port in &settings.ports {
                let _ = writeln!(script, "ip link set dev {} master {name}", port.interface);
                vlans(port, script);
            }
        }
        Bridge::OpenVSwitch => {
            let _ = writeln!(script, "ovs-vsctl add-br {name}");
            // Without such a record ovs-vswitchd removes other programs' qdiscs when it starts.
            for port in &settings.ports {
                let _ = writeln!(
                    script,
                    "ovs-vsctl add-port {name} {interface}{vlans} -- set port {interface} qos=@own -- --id=@own create qos type=linux-noop external_ids:tardy={name}",
                    interface = port.interface,
                    vlans = ovs_vlans(port)
                );
            }
        }
    }
    for device in std::iter::once(name).chain(settings.ports.iter().map(|port| &port.interface)) {
        let _ = writeln!(script, "ip link set dev {device} up");
    }
}

fn vlans(port: &PortSettings, script: &mut String) {
    for vlan in &port.vlans {
        let pvid = if vlan.pvid { " pvid" } else { "" };
        let untagged = if vlan.untagged { " untagged" } else { "" };
        let _ = writeln!(script, "bridge vlan add dev {} vid {}{pvid}{untagged}", port.interface, vlan.id);
    }
}

fn ovs_vlans(port: &PortSettings) -> String {
    let mut options = String::new();
    let trunks: Vec<String> =
        port.vlans.iter().filter(|vlan| !vlan.untagged).map(|vlan| vlan.id.to_string()).collect();
    if let Some(vlan) = port.vlans.iter().find(|vlan| vlan.pvid) {
        if !trunks.is_empty() {
            options.push_str(" vlan_mode=native-untagged");
        }
        let _ = write!(options, " tag={}", vlan.id);
    }
    if !trunks.is_empty() {
        let _ = write!(options, " trunks={}", trunks.join(","));
    }
    options
}

/// Writes the classifier. Returns the commands that remove it.
fn classifier(
    settings: &Settings,
    classifying: Classifying,
    script: &mut String,
) -> Result<Vec<String>, String> {
    if settings.classifiers.is_empty() {
        return Ok(Vec::new());
    }
    let bridged = settings.bridge.kind == Bridge::Kernel;
    match classifying {
        Classifying::Nft if bridged => Ok(nft(settings, script)),
        Classifying::Nft | Classifying::Tc => Ok(flower(settings, script)),
        Classifying::Iptables if bridged => iptables(settings, script),
        Classifying::Iptables => Err("iptables does not see frames of Open vSwitch; use tc".to_owned()),
    }
}

fn nft(settings: &Settings, script: &mut String) -> Vec<String> {
    script.push_str("\n# The priority of a frame at egress: the first match decides.\nnft -f - <<'NFT'\n");
    script.push_str(&classify::nft(settings));
    script.push_str("NFT\n");
    vec![format!("nft delete table bridge {}", classify::nft_table(&settings.bridge.name))]
}

fn flower(settings: &Settings, script: &mut String) -> Vec<String> {
    script.push_str("\n# The priority of a frame at the egress of a port: the first match decides.\n");
    let shaped = || settings.ports.iter().filter(|port| port.taprio.is_some());
    for port in shaped() {
        let _ = writeln!(script, "tc qdisc add dev {} clsact", port.interface);
    }
    for options in classify::flower(settings) {
        let _ = writeln!(script, "tc {}", options.join(" "));
    }
    shaped().map(|port| format!("tc qdisc del dev {} clsact", port.interface)).collect()
}

fn iptables(settings: &Settings, script: &mut String) -> Result<Vec<String>, String> {
    let rules = classify::iptables(settings)?;
    script.push_str(
        "\n# The priority of a frame: the last match decides, so the rules are in reverse order.\n\
         # These two settings let iptables see bridged frames, the second one tagged frames.\n\
         modprobe br_netfilter\n\
         sysctl -w net.bridge.bridge-nf-call-iptables=1 net.bridge.bridge-nf-filter-vlan-tagged=1\n",
    );
    let mut undo = Vec::new();
    for options in rules {
        let rule = options.join(" ");
        let _ = writeln!(script, "iptables -t mangle -A {rule}");
        undo.push(format!("iptables -t mangle -D {rule}"));
    }
    Ok(undo)
}

fn shaper(port: &PortSettings, taprio: &Taprio, script: &mut String) {
    let interface = &port.interface;
    let queues = taprio.queues.iter().map(|range| u32::from(range.offset) + u32::from(range.count)).max();
    let _ = writeln!(
        script,
        "\n# The gates of {interface}. It needs {} transmit queues (`ethtool -l {interface}`), and a speed that the kernel\n\
         # knows (`ethtool {interface}`): for an unknown one it assumes 10 Mbit/s.",
        queues.unwrap_or(0)
    );
    let (entries, most) = (taprio.entries.len(), taprio.entries_max_of_tc());
    if entries > most {
        let _ = writeln!(
            script,
            "# tc cannot send these {entries} gate entries: its message of 1,024 bytes holds {most} here.\n\
             # `tardy tsn apply` sends them by netlink; `tardy tsn plan --as netlink` shows the message.\n\
             exit 1"
        );
        return;
    }
    let _ = writeln!(script, "{}", tc(interface, taprio));
    if port.children.is_empty() {
        return;
    }
    let _ = writeln!(script, "\n# What sends the frames of single queues of {interface}.");
    for child in &port.children {
        let _ = writeln!(script, "{}", tc_child(interface, child));
    }
    if taprio.flags == 0 {
        let _ = writeln!(
            script,
            "# A new discipline below the shaper has stopped the gates' timer; the same request starts it again.\n{}",
            tc(interface, taprio)
        );
    }
}

/// `tc qdisc replace … parent 7514:QUEUE …` for a discipline below the shaper.
fn tc_child(interface: &str, child: &Child) -> String {
    // tc's numbers are hexadecimal.
    let mut options =
        format!("tc qdisc replace dev {interface} parent {HANDLE}{:x}", u32::from(child.queue) + 1);
    let _ = match child.kind {
        ChildKind::Etf { delta_ns, offload } => {
            let offload = if offload { " offload" } else { "" };
            write!(options, " etf clockid CLOCK_TAI delta {delta_ns}{offload} skip_sock_check")
        }
        ChildKind::Cbs { idle_slope_kbps, send_slope_kbps, high_credit_bytes, low_credit_bytes, offload } => {
            write!(
                options,
                " cbs idleslope {idle_slope_kbps} sendslope {send_slope_kbps} hicredit {high_credit_bytes} locredit {low_credit_bytes} offload {}",
                u8::from(offload)
            )
        }
    };
    options
}

/// `tc qdisc replace … taprio …`, over several lines.
pub fn tc(interface: &str, taprio: &Taprio) -> String {
    let mut options = format!("tc qdisc replace dev {interface} parent root handle {HANDLE}");
    if taprio.overhead > 0 {
        let _ = write!(options, " stab overhead {}", taprio.overhead);
    }
    let classes = usize::from(taprio.num_tc);
    let map: Vec<String> = taprio.prio_tc_map.iter().map(ToString::to_string).collect();
    let queues: Vec<String> =
        taprio.queues.iter().map(|range| format!("{}@{}", range.count, range.offset)).collect();
    let _ = write!(
        options,
        " taprio num_tc {classes} \\\n  map {} \\\n  queues {}",
        map.join(" "),
        queues.join(" ")
    );
    let _ = write!(options, " \\\n  base-time {}", taprio.base_time_ns);
    for entry in &taprio.entries {
        let operation = match entry.operation {
            GateOperation::Set => "S",
            GateOperation::SetAndHold => "H",
            GateOperation::SetAndRelease => "R",
        };
        let _ = write!(options, " \\\n  sched-entry {operation} {:02x} {}", entry.gates, entry.interval_ns);
    }
    if let Some(cycle) = taprio.cycle_time_ns.filter(|cycle| *cycle != 0) {
        let _ = write!(options, " \\\n  cycle-time {cycle}");
    }
    if let Some(extension) = taprio.cycle_time_extension_ns.filter(|extension| *extension != 0) {
        let _ = write!(options, " \\\n  cycle-time-extension {extension}");
    }
    if taprio.flags != 0 {
        let _ = write!(options, " \\\n  flags {:#x}", taprio.flags);
    }
    if let Some(delay) = taprio.txtime_delay_ns {
        let _ = write!(options, " \\\n  txtime-delay {delay}");
    }
    if taprio.max_sdu.iter().any(|bytes| *bytes > 0) {
        let limits: Vec<String> = taprio.max_sdu[..classes].iter().map(ToString::to_string).collect();
        let _ = write!(options, " \\\n  max-sdu {}", limits.join(" "));
    }
    if taprio.preemptible != 0 {
        let kind = |class: usize| if taprio.preemptible >> class & 1 == 1 { "P" } else { "E" };
        let kinds: Vec<&str> = (0..classes).map(kind).collect();
        let _ = write!(options, " \\\n  fp {}", kinds.join(" "));
    }
    if let Some(id) = taprio.clockid {
        let name = Clock::ALL.into_iter().find(|clock| clock.id() == id).map_or("CLOCK_TAI", Clock::name);
        let _ = write!(options, " \\\n  clockid {name}");
    }
    options
}
