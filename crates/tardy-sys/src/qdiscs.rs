//! Queueing disciplines of a device: lists them, sets simple ones, and deletes them (tc(8)).

use crate::links;
use crate::netlink::{Message, NetlinkError, Request, RouteSocket};

// include/uapi/linux/rtnetlink.h.
pub(crate) const TCA_KIND: u16 = 1;
pub(crate) const TCA_OPTIONS: u16 = 2;
pub(crate) const TCA_STATS2: u16 = 7;
pub(crate) const TCA_STAB: u16 = 8;
/// `struct tcmsg`.
const FIXED_BYTES: usize = 20;

/// TC_H_ROOT.
pub const ROOT: u32 = u32::MAX;

/// A queueing discipline as reported by the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qdisc {
    /// The device's index.
    pub device: u32,
    /// Its handle, major number in the upper 16 bits.
    pub handle: u32,
    /// The handle of its parent class, or [`ROOT`].
    pub parent: u32,
    /// Its kind, such as `pfifo`.
    pub kind: String,
    /// Its settings, as attributes.
    pub options: Vec<u8>,
    /// Bytes that a size table adds to each frame, if it has one.
    pub overhead_bytes: Option<u32>,
    /// Frames that wait in it.
    pub waiting_frames: u32,
    /// Frames that it dropped.
    pub dropped: u32,
}

/// A queueing discipline that sends each frame at its transmit time (tc-etf(8)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Etf {
    /// How long before its transmit time a frame is passed to the driver, in ns.
    pub delta_ns: i32,
    /// The clock of the transmit times, by its number in clock_gettime(2).
    pub clock_id: i32,
}

impl Qdisc {
    /// Parses a message of a dump; `None` for messages of another type.
    pub fn read(message: &Message) -> Option<Self> {
        // TCA_STATS_QUEUE: `struct gnet_stats_queue`, qlen, backlog, drops, requeues, overlimits.
        const QUEUE: u16 = 3;
        if message.kind != libc::RTM_NEWQDISC && message.kind != libc::RTM_DELQDISC {
            return None;
        }
        let attributes = message.attributes(FIXED_BYTES);
        let queue = attributes.find(TCA_STATS2).and_then(|stats| stats.inner().find(QUEUE));
        let count = |at: usize| {
            let bytes = queue.and_then(|queue| queue.value.get(at..at + 4)?.try_into().ok());
            bytes.map_or(0, u32::from_ne_bytes)
        };
        let stab = attributes.find(TCA_STAB).and_then(|stab| stab.inner().find(1));
        let overhead = stab.and_then(|spec| spec.value.get(4..8)?.try_into().ok()).map(u32::from_ne_bytes);
        Some(Self {
            device: message.number_at(4)?,
            handle: message.number_at(8)?,
            parent: message.number_at(12)?,
            kind: attributes.find(TCA_KIND)?.text(),
            options: attributes.find(TCA_OPTIONS).map(|options| options.value.to_vec()).unwrap_or_default(),
            overhead_bytes: overhead,
            waiting_frames: count(0),
            dropped: count(8),
        })
    }

    /// The settings of an ETF; `None` for another kind.
    pub fn etf(&self) -> Option<Etf> {
        // TCA_ETF_PARMS, the first attribute: struct tc_etf_qopt, delta, clock, flags.
        let number = |at: usize| Some(i32::from_ne_bytes(self.options.get(at..at + 4)?.try_into().ok()?));
        if self.kind != "etf" {
            return None;
        }
        Some(Etf { delta_ns: number(4)?, clock_id: number(8)? })
    }

    /// A pfifo's or bfifo's limit, in frames or bytes.
    pub fn fifo_limit(&self) -> Option<u32> {
        Some(u32::from_ne_bytes(self.options.get(..4)?.try_into().ok()?))
    }
}

/// The queueing disciplines of the device `name`.
///
/// # Errors
/// ENODEV if there is no such device.
pub fn of(name: &str) -> Result<Vec<Qdisc>, NetlinkError> {
    let index = links::index_of(name)?;
    let request = Request::new(libc::RTM_GETQDISC, libc::NLM_F_DUMP as u16, &traffic(index, 0, 0));
    let messages = RouteSocket::open()?.dump(&request)?;
    Ok(messages.iter().filter_map(Qdisc::read).filter(|qdisc| qdisc.device == index).collect())
}

/// The kinds of the classful queueing disciplines of the device `name` with their handles, one for each class. It
/// includes a queueing discipline that is too large for [`of`] to show.
///
/// # Errors
/// ENODEV if there is no such device.
pub fn classes_of(name: &str) -> Result<Vec<(String, u32)>, NetlinkError> {
    let index = links::index_of(name)?;
    let request = Request::new(libc::RTM_GETTCLASS, libc::NLM_F_DUMP as u16, &traffic(index, 0, 0));
    let messages = RouteSocket::open()?.dump(&request)?;
    let class = |message: &Message| {
        Some((message.attributes(FIXED_BYTES).find(TCA_KIND)?.text(), message.number_at(8)?))
    };
    Ok(messages.iter().filter_map(class).collect())
}

/// Adds a FIFO queue of `limit` frames to the class `parent` of the device `name`.
///
/// # Errors
/// The kernel's.
pub fn set_pfifo(name: &str, parent: u32, limit: u32) -> Result<(), NetlinkError> {
    set(name, parent, 0, "pfifo", |request| {
        request.attribute(TCA_OPTIONS, &limit.to_ne_bytes());
    })
}

/// A token bucket (tc-tbf(8)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// The rate, in bit/s.
    pub rate_bps: u64,
    /// The size of the bucket, in bytes: at least a frame.
    pub burst_bytes: u32,
    /// The size of the queue, in bytes.
    pub limit_bytes: u32,
    /// Bytes that are counted for each frame in addition to its length.
    pub overhead_bytes: u16,
}

/// Makes a token bucket the root of the device `name`.
///
/// # Errors
/// ENOENT if the kernel has none (CONFIG_NET_SCH_TBF).
pub fn set_token_bucket(name: &str, bucket: TokenBucket) -> Result<(), NetlinkError> {
    // include/uapi/linux/pkt_sched.h.
    const PARMS: u16 = 1;
    const RATE64: u16 = 4;
    const BURST: u16 = 6;
    const ETHERNET: u8 = 1;
    let TokenBucket { rate_bps, burst_bytes, limit_bytes, overhead_bytes } = bucket;
    let bytes_per_second = rate_bps / 8;
    let rate = u32::try_from(bytes_per_second).unwrap_or(u32::MAX);
    // struct tc_tbf_qopt: two struct tc_ratespec (of which link layer and rate matter), limit, buffer, mtu.
    let mut parameters = vec![0, ETHERNET];
    parameters.extend_from_slice(&overhead_bytes.to_ne_bytes());
    parameters.extend_from_slice(&[0; 4]);
    parameters.extend_from_slice(&rate.to_ne_bytes());
    parameters.extend_from_slice(&[0; 12]);
    parameters.extend_from_slice(&limit_bytes.to_ne_bytes());
    parameters.extend_from_slice(&[0; 8]);
    set(name, ROOT, 1, "tbf", |request| {
        request.nest(TCA_OPTIONS, |options| {
            options.attribute(PARMS, &parameters);
            options.attribute(BURST, &burst_bytes.to_ne_bytes());
            if bytes_per_second > u64::from(u32::MAX) {
                options.attribute(RATE64, &bytes_per_second.to_ne_bytes());
            }
        });
    })
}

/// How an ETF treats frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EtfMode {
    /// Whether the card sends each frame at its time.
    pub offload: bool,
    /// Whether frames without a socket are accepted: those of other hosts, which a switch forwards.
    pub accepts_other_hosts: bool,
}

/// The settings of an ETF, in the form of [`Qdisc::options`].
pub fn etf_options(etf: Etf, mode: EtfMode) -> Vec<u8> {
    // include/uapi/linux/pkt_sched.h: TC_ETF_OFFLOAD_ON and TC_ETF_SKIP_SOCK_CHECK; struct tc_etf_qopt: delta, clock, flags.
    let flags = u32::from(mode.offload) << 1 | u32::from(mode.accepts_other_hosts) << 2;
    let mut parameters = etf.delta_ns.to_ne_bytes().to_vec();
    parameters.extend_from_slice(&etf.clock_id.to_ne_bytes());
    parameters.extend_from_slice(&flags.to_ne_bytes());
    parameters_alone(&parameters)
}

/// A credit-based shaper (tc-cbs(8)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cbs {
    /// The rate, in kbit/s.
    pub idle_slope_kbps: i32,
    /// The rate less that of the port, in kbit/s.
    pub send_slope_kbps: i32,
    /// The most credit, in bytes.
    pub high_credit_bytes: i32,
    /// The least credit, in bytes.
    pub low_credit_bytes: i32,
    /// Whether the card shapes.
    pub offload: bool,
}

/// The settings of a credit-based shaper, in the form of [`Qdisc::options`].
pub fn cbs_options(cbs: Cbs) -> Vec<u8> {
    // struct tc_cbs_qopt: offload, padding, hicredit, locredit, idleslope, sendslope.
    let mut parameters = vec![u8::from(cbs.offload), 0, 0, 0];
    for number in [cbs.high_credit_bytes, cbs.low_credit_bytes, cbs.idle_slope_kbps, cbs.send_slope_kbps] {
        parameters.extend_from_slice(&number.to_ne_bytes());
    }
    parameters_alone(&parameters)
}

/// `TCA_ETF_PARMS` or `TCA_CBS_PARMS`, which have the same number, with these bytes.
fn parameters_alone(bytes: &[u8]) -> Vec<u8> {
    const PARMS: u16 = 1;
    let length = 4 + bytes.len() as u16;
    let mut attribute = length.to_ne_bytes().to_vec();
    attribute.extend_from_slice(&PARMS.to_ne_bytes());
    attribute.extend_from_slice(bytes);
    attribute
}

/// Adds a queueing discipline of `kind` to the class `parent` of the device `name`, or replaces the one there. `options` has the form of
/// [`Qdisc::options`].
///
/// # Errors
/// ENOENT if the kernel has none of that kind, EOPNOTSUPP if the device does not support what is to be done there.
pub fn set_below(name: &str, parent: u32, kind: &str, options: &[u8]) -> Result<(), NetlinkError> {
    set(name, parent, 0, kind, |request| {
        request.attribute(TCA_OPTIONS, options);
    })
}

/// Deletes the queueing discipline of the class `parent` of the device `name`.
///
/// # Errors
/// ENOENT if there is none.
pub fn delete_below(name: &str, parent: u32) -> Result<(), NetlinkError> {
    let fixed = traffic(links::index_of(name)?, 0, parent);
    RouteSocket::open()?.ask(&Request::new(libc::RTM_DELQDISC, 0, &fixed))
}

/// Makes a queueing discipline of `kind` the root of the device `name`, with `major` as the upper half of its handle
/// and `options` as its settings, in the form of [`Qdisc::options`].
///
/// # Errors
/// ENOENT if the kernel has none of that kind, EINVAL for invalid settings.
pub fn set_root(name: &str, kind: &str, major: u16, options: &[u8]) -> Result<(), NetlinkError> {
    set(name, ROOT, major, kind, |request| {
        if !options.is_empty() {
            request.attribute(TCA_OPTIONS, options);
        }
    })
}

/// Deletes the root queueing discipline of the device `name`; the kernel replaces it with the default.
///
/// # Errors
/// ENOENT if it already is the default.
pub fn delete_root(name: &str) -> Result<(), NetlinkError> {
    let fixed = traffic(links::index_of(name)?, 0, ROOT);
    RouteSocket::open()?.ask(&Request::new(libc::RTM_DELQDISC, 0, &fixed))
}

fn set(
    name: &str,
    parent: u32,
    handle: u16,
    kind: &str,
    fill: impl FnOnce(&mut Request),
) -> Result<(), NetlinkError> {
    let flags = (libc::NLM_F_CREATE | libc::NLM_F_REPLACE) as u16;
    let fixed = traffic(links::index_of(name)?, u32::from(handle) << 16, parent);
    let mut request = Request::new(libc::RTM_NEWQDISC, flags, &fixed);
    request.text(TCA_KIND, kind);
    fill(&mut request);
    RouteSocket::open()?.ask(&request)
}

/// `struct tcmsg`: family, padding, device, handle, parent, info.
pub(crate) fn traffic(device: u32, handle: u32, parent: u32) -> [u8; FIXED_BYTES] {
    let mut bytes = [0; FIXED_BYTES];
    bytes[4..8].copy_from_slice(&device.to_ne_bytes());
    bytes[8..12].copy_from_slice(&handle.to_ne_bytes());
    bytes[12..16].copy_from_slice(&parent.to_ne_bytes());
    bytes
}

/// The device's index in a message about queueing disciplines, for notifications of [`crate::netlink::Monitor`].
pub fn device_of(message: &Message) -> Option<u32> {
    let of_traffic = [libc::RTM_NEWQDISC, libc::RTM_DELQDISC].contains(&message.kind);
    of_traffic.then(|| message.number_at(4)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_the_form_in_which_the_kernel_shows_them() {
        let etf = Etf { delta_ns: 300_000, clock_id: 11 };
        let options = etf_options(etf, EtfMode { offload: false, accepts_other_hosts: true });
        assert_eq!((options.len(), options[12]), (16, 4));
        let shown = Qdisc { kind: "etf".to_owned(), options, ..Qdisc::default() };
        assert_eq!(shown.etf(), Some(etf));
        let cbs = Cbs {
            idle_slope_kbps: 20_000,
            send_slope_kbps: -80_000,
            high_credit_bytes: 309,
            low_credit_bytes: -1234,
            offload: true,
        };
        let options = cbs_options(cbs);
        assert_eq!((options.len(), options[4]), (24, 1));
        assert_eq!(options[8..12], 309i32.to_ne_bytes());
        assert_eq!(options[20..24], (-80_000i32).to_ne_bytes());
    }
}
