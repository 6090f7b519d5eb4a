//! A flow's frames at each port on their route: VLANs add and remove tags.

use super::wiring::WiringError;
use crate::network::{End, Flow, Marks, Network, PortId, PortVlans, Switch};

/// Bytes of a VLAN tag.
const TAG_BYTES: u32 = 4;

/// The route of a flow's frames.
pub(super) struct Path {
    /// The ports by which they leave.
    pub(super) passages: Vec<Passage>,
    /// Why the frames do not arrive; `None` if they do.
    pub(super) astray: Option<String>,
}

/// A port by which frames leave.
pub(super) struct Passage {
    pub(super) out: PortId,
    /// The header fields that the classifier sees.
    pub(super) marks: Marks,
    /// Bytes on the wire after the port, without overhead.
    pub(super) bytes: u32,
    /// Bytes as counted by the kernel there: it stores a tag outside the frame (`skb->vlan_tci`).
    pub(super) kernel_bytes: u32,
}

impl Path {
    pub(super) fn of(network: &Network, flow: &Flow) -> Result<Self, WiringError> {
        let ports = network.way_out(flow).ok_or_else(|| WiringError {
            span: flow.span,
            what: format!(
                "flow '{}': no cables lead from its talker to its listener; write to = \"…\" at the ports",
                flow.name.value
            ),
        })?;
        let mut path = Self { passages: Vec::with_capacity(ports.len()), astray: None };
        let (mut marks, mut bytes) = (flow.marks, flow.size.value);
        let mut into = network.port_of_host(flow.talker.value).map(|(port, _)| port);
        for out in ports {
            let switch = &network.switches[out.switch];
            let seen = marks;
            let tagged = marks.vlan.is_some();
            match leaves_with(switch, into, out, marks.vlan) {
                Ok(vlan) => {
                    if marks.vlan.is_some() && vlan.is_none() {
                        (marks.vlan, marks.pcp) = (None, None);
                    } else if marks.vlan.is_none() && vlan.is_some() {
                        (marks.vlan, marks.pcp) = (vlan, Some(0));
                    }
                }
                Err(why) => {
                    path.astray = Some(why);
                    return Ok(path);
                }
            }
            let untagged_bytes = if tagged { bytes.saturating_sub(TAG_BYTES) } else { bytes };
            bytes =
                if marks.vlan.is_some() { untagged_bytes.saturating_add(TAG_BYTES) } else { untagged_bytes };
            path.passages.push(Passage { out, marks: seen, bytes, kernel_bytes: untagged_bytes });
            into = match network.far_end(out) {
                Some(End::Port(port)) => Some(port),
                _ => None,
            };
        }
        Ok(path)
    }
}

/// The VLAN tag with which a frame that arrived with `tag` leaves by `out`; an error if it does not leave.
fn leaves_with(
    switch: &Switch,
    into: Option<PortId>,
    out: PortId,
    tag: Option<u16>,
) -> Result<Option<u16>, String> {
    if switch.ports.iter().all(|port| port.vlans.is_empty()) {
        return Ok(tag);
    }
    let port = |id: PortId| &switch.ports[id.port];
    let name = |id: PortId| format!("{}/{}", switch.name.value, port(id).interface.value);
    let none = PortVlans::default();
    let into_vlans = into.map_or(&none, |id| &port(id).vlans);
    let into_name = into.map(name).unwrap_or_default();
    let vlan = match tag.filter(|vlan| *vlan != 0) {
        Some(vlan) if is_member(into_vlans, vlan) => vlan,
        Some(vlan) => return Err(format!("{into_name} is not in VLAN {vlan}")),
        None => match &into_vlans.untagged {
            Some(vlan) => vlan.value,
            None => return Err(format!("{into_name} accepts no frames without a VLAN tag (it has no pvid)")),
        },
    };
    let out_vlans = &port(out).vlans;
    if !is_member(out_vlans, vlan) {
        return Err(format!("{} is not in VLAN {vlan}", name(out)));
    }
    let stripped = out_vlans.untagged.as_ref().is_some_and(|untagged| untagged.value == vlan);
    Ok(if stripped { None } else { Some(vlan) })
}

fn is_member(vlans: &PortVlans, vlan: u16) -> bool {
    vlans.untagged.iter().chain(&vlans.tagged).any(|id| id.value == vlan)
}
