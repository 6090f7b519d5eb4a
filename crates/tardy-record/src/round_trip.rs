//! Round trips over a network: the plan, and the fields of their series.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scheduling::Policy;

/// What requests are sent in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// UDP datagrams.
    #[default]
    Udp,
    /// ICMP echo requests.
    Icmp,
    /// Raw Ethernet frames to one host.
    Ethernet,
    /// Raw Ethernet frames that EtherCAT devices return.
    Ethercat,
}

impl Protocol {
    /// Its name on the command line and in recipes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Icmp => "icmp",
            Self::Ethernet => "ethernet",
            Self::Ethercat => "ethercat",
        }
    }
}

/// Requests to a peer at a period, by one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTripPlan {
    /// What requests are sent in.
    pub protocol: Protocol,
    /// The peer: a host, with or without a port, or a hardware address; empty for EtherCAT.
    pub peer: String,
    /// The link for raw frames; absent if the route decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The thread's CPU.
    pub cpu: u32,
    /// Its requested policy.
    pub policy: Policy,
    /// Its real-time priority; 0 if the policy has none.
    pub priority: u32,
    /// From one request to the next, in ns.
    pub interval_ns: u64,
    /// Longest exit latency of an idle state allowed through /dev/cpu_dma_latency, in us; absent if it was left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dma_latency_us: Option<u32>,
}

/// A part of a round trip. The parts that have series add up to the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// From the call that sends the request to the return of the call that receives the answer.
    Whole,
    /// From that call to the hand-over to the driver.
    Send,
    /// From there to the delivery of the answer by the driver, without the peer's part if that is known. The device's interrupt is
    /// in it.
    Wire,
    /// The time that the peer had the request, if it says so.
    Peer,
    /// From the delivery, which is in the soft interrupt, to the return of the call that receives the answer.
    Receive,
}

impl Part {
    /// Its name in labels of series.
    pub fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Send => "send",
            Self::Wire => "wire",
            Self::Peer => "peer",
            Self::Receive => "receive",
        }
    }
}

/// A series of round trips, or of a part of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTripSeries {
    /// The part.
    pub part: Part,
    /// The thread's CPU.
    pub cpu: u32,
    /// From one request to the next, in ns.
    pub interval_ns: u64,
    /// Answers that came after the next request was due. This and what follows is counted in the series of the whole only.
    pub late: u64,
    /// Requests that were never answered.
    pub lost: u64,
    /// Requests that were not sent: the thread woke up after the next one was due, or the kernel refused them.
    pub not_sent: u64,
    /// Answers without all time stamps, which are in the whole and in no part.
    pub undivided: u64,
    /// Requests whose outcome the supervisor was too late to take.
    pub unrecorded: u64,
    /// The least number of EtherCAT devices that an answer passed; absent for other protocols.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices: Option<u16>,
}

impl RoundTripSeries {
    /// An empty series of a part.
    pub fn of(part: Part, plan: &RoundTripPlan) -> Self {
        let RoundTripPlan { cpu, interval_ns, .. } = *plan;
        let (late, lost, not_sent, undivided, unrecorded) = (0, 0, 0, 0, 0);
        Self { part, cpu, interval_ns, late, lost, not_sent, undivided, unrecorded, devices: None }
    }
}
