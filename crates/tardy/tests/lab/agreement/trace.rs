//! The kernel's trace of a switch's ports: what happened to each frame at each of them, and when their gates moved.
//!
//! A frame reaches a port (`net_dev_queue`), is accepted by one of its queues (`qdisc_enqueue`) or dropped, and leaves
//! (`qdisc_dequeue`) or waits until the end. Its size tells its flow, since all flows of a generated file differ in size,
//! and frames of a flow never overtake each other.

use std::collections::{BTreeMap, VecDeque};

use tardy_tsn::network::{Network, PortId};
use tardy_tsn::simulate::Options;
use tardy_tsn::simulate::of_network::wire;
use tardy_tsn::simulate::wiring::Hop;

/// The command that keeps only what [`Trace::of`] needs of the file that follows. It splits lines at blanks: with regular
/// expressions it took a fifth of the scene.
pub(super) const SHORTENED: &str = r#"awk '
    function value(word) { return substr(word, index(word, "=") + 1) }
    { at = substr($4, 1, length($4) - 1) }
    $5 == "net_dev_queue:" { print at, "reached", value($7), value($6), value($8) }
    $5 == "qdisc_enqueue:" { print at, "queued", value($NF) }
    $5 == "qdisc_dequeue:" { print at, "left", value($NF), value($(NF - 1)) }
    $5 == "hrtimer_expire_entry:" && $7 ~ /^function=advance_sched/ { print at, "fired", value($6), value($NF) }
'"#;

/// What became of a frame at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It left its queue at this time.
    Left(i64),
    /// No queue accepted it.
    Dropped,
    /// It was still in its queue at the end.
    Waits,
}

/// A frame at a port. Times are in ns on the schedules' clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) flow: usize,
    pub(super) sequence: u64,
    pub(super) reached_ns: i64,
    pub(super) fate: Fate,
}

/// A port with a schedule.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) id: PortId,
    /// In the order in which they reached it.
    pub(super) frames: Vec<Frame>,
    /// When its gate timer fired.
    pub(super) timers_ns: Vec<i64>,
    /// When its list began.
    pub(super) list_start_ns: i64,
    /// The frames of each queue that have not left, by their index and the kernel's address.
    waiting: BTreeMap<u16, VecDeque<(usize, String)>>,
}

/// Everything that happened at the ports.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) ports: Vec<Port>,
}

/// The ports with schedules.
pub(super) fn ports_of(network: &Network) -> Vec<PortId> {
    let switches = network.switches.iter().enumerate();
    let all = switches.flat_map(|(switch, it)| (0..it.ports.len()).map(move |port| PortId { switch, port }));
    all.filter(|id| network.switches[id.switch].ports[id.port].schedule.is_some()).collect()
}

/// A flow's hop at each port with a schedule.
struct Route {
    size: u32,
    /// The index among the ports, and the hop.
    hops: Vec<(usize, Hop)>,
    sent: u64,
    /// For each hop, the sequence numbers of frames on their way to it.
    coming: Vec<VecDeque<u64>>,
}

impl Route {
    fn all(network: &Network, options: &Options, ports: &[PortId]) -> Vec<Self> {
        let wired = wire(network, options, true).unwrap().wiring;
        let name = |id: &PortId| {
            let switch = &network.switches[id.switch];
            format!("{}/{}", switch.name.value, switch.ports[id.port].interface.value)
        };
        let names: Vec<String> = ports.iter().map(name).collect();
        let route = |stream: &tardy_tsn::simulate::wiring::Stream| {
            let first = stream.first_hop as usize;
            let hops = &wired.hops[first..first + usize::from(stream.hops)];
            let at = |hop: &Hop| {
                let transmitter = &wired.transmitters[hop.transmitter as usize].name;
                Some((names.iter().position(|name| name == transmitter)?, *hop))
            };
            let hops: Vec<(usize, Hop)> = hops.iter().filter_map(at).collect();
            Self { size: hops[0].1.kernel_bytes, coming: vec![VecDeque::new(); hops.len()], hops, sent: 0 }
        };
        wired.streams.iter().map(route).collect()
    }

    /// The number of the frame that now reaches hop `place`.
    fn next(&mut self, place: usize) -> u64 {
        if place == 0 {
            self.sent += 1;
            return self.sent - 1;
        }
        self.coming[place].pop_front().expect("a frame that left the port before")
    }
}

impl Trace {
    /// Reads a trace that [`SHORTENED`] has shortened.
    pub(super) fn of(text: &str, network: &Network, options: &Options) -> Self {
        let ids = ports_of(network);
        let mut routes = Route::all(network, options, &ids);
        let port = |id: &PortId| Port {
            id: *id,
            frames: Vec::new(),
            timers_ns: Vec::new(),
            list_start_ns: 0,
            waiting: BTreeMap::new(),
        };
        let mut ports: Vec<Port> = ids.iter().map(port).collect();
        let named = |name: &str| {
            let is_so = |id: &PortId| network.switches[id.switch].ports[id.port].interface.value == name;
            ids.iter().position(is_so)
        };
        // Frames that reached a port and are not yet queued, by their address.
        let mut pending: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        let mut timers: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
        let mut last_ns = i64::MIN;
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [at, what, address, ref more @ ..] = words[..] else { panic!("{line}") };
            // The trace shows whole microseconds. Its order is that of its lines.
            let at_ns = nanoseconds(at).max(last_ns + 1);
            last_ns = at_ns;
            match (what, more) {
                ("fired", [now]) => {
                    last_ns = at_ns.max(now.parse().unwrap());
                    timers.entry(address).or_default().push(last_ns);
                }
                ("reached", [device, size]) => {
                    let Some(place) = named(device) else { continue };
                    let size: u32 = size.parse().unwrap();
                    let Some(flow) = routes.iter().position(|route| route.size == size) else { continue };
                    let hop = routes[flow].hops.iter().position(|(port, _)| *port == place).unwrap();
                    let sequence = routes[flow].next(hop);
                    let frames = &mut ports[place].frames;
                    pending.insert(address, (place, frames.len()));
                    frames.push(Frame { flow, sequence, reached_ns: at_ns, fate: Fate::Dropped });
                }
                ("queued", []) => {
                    let Some((place, index)) = pending.remove(address) else { continue };
                    let frame = &mut ports[place].frames[index];
                    frame.fate = Fate::Waits;
                    let (_, hop) = routes[frame.flow].hops.iter().find(|(port, _)| *port == place).unwrap();
                    let queue = ports[place].waiting.entry(hop.queue).or_default();
                    queue.push_back((index, address.to_owned()));
                }
                ("left", [count]) => {
                    for (place, index) in left(&mut ports, address, count.parse().unwrap()) {
                        let frame = &mut ports[place].frames[index];
                        frame.fate = Fate::Left(at_ns);
                        let route = &mut routes[frame.flow];
                        let hop = route.hops.iter().position(|(port, _)| *port == place).unwrap();
                        if let Some(coming) = route.coming.get_mut(hop + 1) {
                            coming.push_back(frame.sequence);
                        }
                    }
                }
                _ => panic!("{line}"),
            }
        }
        assign(&mut ports, timers.into_values().collect(), network);
        Self { ports }
    }
}

/// The frames that leave with the frame at `address`, which must be the first of its queue: `count` of that queue.
fn left(ports: &mut [Port], address: &str, count: usize) -> Vec<(usize, usize)> {
    for (place, port) in ports.iter_mut().enumerate() {
        let holds = |queue: &&mut VecDeque<(usize, String)>| queue.iter().any(|(_, it)| it == address);
        if let Some(queue) = port.waiting.values_mut().find(holds) {
            assert_eq!(
                queue[0].1, address,
                "a frame left before one that the simulator has in the same queue"
            );
            return queue.drain(..count).map(|(index, _)| (place, index)).collect();
        }
    }
    // A frame of no flow.
    Vec::new()
}

/// Assigns each timer to the port whose schedule starts when it first fires.
fn assign(ports: &mut [Port], mut timers: Vec<Vec<i64>>, network: &Network) {
    for port in ports {
        let schedule = network.switches[port.id.switch].ports[port.id.port].schedule.as_ref().unwrap();
        let base_ns = schedule.base_time_ns.value;
        let late_ns = |fired: &Vec<i64>| (fired[0] - base_ns).rem_euclid(schedule.cycle_ns().cast_signed());
        let own = (0..timers.len()).min_by_key(|timer| late_ns(&timers[*timer])).expect("a gate timer");
        port.timers_ns = timers.swap_remove(own);
        port.list_start_ns = port.timers_ns[0] - late_ns(&port.timers_ns);
    }
}

/// `seconds.microseconds` in ns.
fn nanoseconds(text: &str) -> i64 {
    let (seconds, fraction) = text.split_once('.').unwrap_or_else(|| panic!("{text}"));
    assert_eq!(fraction.len(), 6, "{text}");
    (seconds.parse::<i64>().unwrap() * 1_000_000 + fraction.parse::<i64>().unwrap()) * 1000
}
