//! One phase of a test: talkers and listeners from the first frame to the last.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tardy_record::Series;
use tardy_record::flow::{FlowSeries, FrameCount, OutOfSlot, PhaseHistogram, StampSource};
use tardy_record::flow_recorder::FlowRecorder;
use tardy_sys::clock::{Clock, monotonic_ns};
use tardy_sys::packet::PacketSocket;
use tardy_tsn::network::Network;

use super::build::Scene;
use super::dequeue::DequeueWatch;
use super::flow_paths::{self, FlowPath};
use super::frame::{self, Template};
use super::listener::{FRAMES_MAX, Harvest, Heard, KeptFrames, Listener};
use super::observed::{self, ObservedFrame};
use super::plan::warmup_ns;
use super::stamps::DeviceStamps;
use super::talker::{Launch, Talker, Times};
use super::{Request, tai_minus_utc};

/// Room for frames that wait to be read by a listener, in bytes.
const RECEIVE_BUFFER_BYTES: usize = 16 << 20;
/// What waits in the switch when talkers stop comes within this much of silence, or never.
const SILENCE: Duration = Duration::from_millis(250);
/// The longest that a phase waits for what is still under way.
const DRAIN_TURNS: u32 = 80;
/// The longest that a schedule's base time may be ahead.
const BASE_TIME_WAIT_NS: i64 = 60_000_000_000;

/// What came of a phase.
pub(super) struct Outcome {
    /// When frames began to count, in ns from the start of the run.
    pub(super) start_ns: u64,
    /// When they ended.
    pub(super) end_ns: u64,
    /// The flows.
    pub(super) series: Vec<Series>,
    /// Every frame in the order of its arrival, if they are to be kept.
    pub(super) frames: Vec<ObservedFrame>,
    /// What a reader should know.
    pub(super) remarks: Vec<String>,
    /// What spoilt it.
    pub(super) spoilt_by: Vec<String>,
}

/// Runs phase `index` in `scene`; the run began at `run_start_ns` of the monotonic clock.
///
/// # Errors
/// In words.
pub(super) fn run(
    request: &Request,
    scene: &Scene,
    index: usize,
    run_start_ns: u64,
) -> Result<Outcome, String> {
    let network = &request.network;
    let paths: Vec<FlowPath> =
        network.flows.iter().map(|flow| flow_paths::of(network, flow)).collect::<Result<_, _>>()?;
    let begin_ns = begin(&paths)?;
    let start_ns = begin_ns + warmup_ns(network);
    let phase = Phase { request, scene, paths, index, run_start_ns, start_ns };
    let (came, stop) = (AtomicU32::new(0), AtomicBool::new(false));
    let listeners = phase.listeners(&came, &stop)?;
    phase.say_hello()?;
    let talkers = phase.talkers()?;
    let watch = DequeueWatch::start(request, scene, index);
    let (sent, harvests) = std::thread::scope(|scope| -> Result<_, String> {
        let listening: Vec<_> =
            listeners.into_iter().map(|(host, listener)| (host, scope.spawn(|| listener.run()))).collect();
        let talking: Vec<_> = talkers
            .into_iter()
            .map(|talker| {
                let times = phase.times(usize::from(talker.flow));
                scope.spawn(move || talker.run(times))
            })
            .collect();
        let sent: Result<Vec<u64>, String> = talking.into_iter().map(|thread| ended(thread.join())).collect();
        drain(&came);
        stop.store(true, Ordering::Relaxed);
        let heard =
            |(host, thread): (usize, std::thread::ScopedJoinHandle<'_, _>)| Ok((host, ended(thread.join())?));
        let harvests: Result<Vec<(usize, Harvest)>, String> = listening.into_iter().map(heard).collect();
        Ok((sent?, harvests?))
    })?;
    Ok(phase.outcome(&sent, harvests, watch))
}

fn ended<T>(joined: std::thread::Result<Result<T, String>>) -> Result<T, String> {
    joined.map_err(|_| "a thread of the test panicked; please report it".to_owned())?
}

/// When talkers begin, on the monotonic clock: now, or once the last schedule has begun.
fn begin(paths: &[FlowPath]) -> Result<u64, String> {
    let ahead = |path: &FlowPath| path.base_ns.saturating_sub(path.clock.now_ns());
    let longest = paths.iter().map(ahead).max().unwrap_or(0).max(0);
    if longest > BASE_TIME_WAIT_NS {
        return Err(format!(
            "a schedule's base time is {} s ahead, and all gates are open until then; give one that has passed, such as \"0s\"",
            longest / 1_000_000_000
        ));
    }
    Ok(monotonic_ns() + longest.unsigned_abs())
}

/// Waits until nothing comes any more.
fn drain(came: &AtomicU32) {
    let mut before = came.load(Ordering::Relaxed);
    for _ in 0..DRAIN_TURNS {
        std::thread::sleep(SILENCE);
        let now = came.load(Ordering::Relaxed);
        if now == before {
            return;
        }
        before = now;
    }
}

struct Phase<'a> {
    request: &'a Request,
    scene: &'a Scene,
    paths: Vec<FlowPath>,
    index: usize,
    run_start_ns: u64,
    /// When frames begin to count, on the monotonic clock.
    start_ns: u64,
}

impl Phase<'_> {
    fn network(&self) -> &Network {
        &self.request.network
    }

    /// Which frames of a flow count, on its schedule's clock.
    fn times(&self, flow: usize) -> Times {
        let clock = self.paths[flow].clock;
        let start_ns = self.start_ns.cast_signed() + clock.ahead_of_ns(Clock::Monotonic);
        Times { start_ns, end_ns: start_ns + self.request.duration_ns.cast_signed() }
    }

    fn listeners<'b>(
        &self,
        came: &'b AtomicU32,
        stop: &'b AtomicBool,
    ) -> Result<Vec<(usize, Listener<'b>)>, String> {
        let network = self.network();
        let mut hosts: Vec<usize> = network.flows.iter().map(|flow| flow.listener.value).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let listener = |host: usize| {
            let interface = self.scene.interface(host);
            let opened =
                self.scene.in_host(host, || PacketSocket::receiver(interface, RECEIVE_BUFFER_BYTES))?;
            let socket = opened.map_err(|error| self.of_host(host, &error))?;
            let of_host = (0..network.flows.len()).filter(|flow| network.flows[*flow].listener.value == host);
            let (device, remark) =
                if self.scene.is_of_machine() { DeviceStamps::begin(interface) } else { (None, None) };
            let source = if device.is_some() { StampSource::Hardware } else { StampSource::Software };
            let listener = Listener {
                socket,
                device,
                remark,
                phase: self.index as u8,
                flows: of_host.map(|flow| (flow as u8, self.heard(flow, source))).collect(),
                run_start_realtime_ns: self.run_start_ns.cast_signed()
                    + Clock::Realtime.ahead_of_ns(Clock::Monotonic),
                came,
                stop,
                frames: self.request.keep_frames.then(KeptFrames::default),
            };
            Ok((host, listener))
        };
        hosts.into_iter().map(listener).collect()
    }

    fn heard(&self, flow: usize, stamped_by: StampSource) -> Heard {
        let path = &self.paths[flow];
        let about = FlowSeries { stamped_by, ..self.about(flow) };
        let start_ns = self.start_ns - self.run_start_ns;
        Heard {
            recorder: FlowRecorder::new(about, path.base_ns, start_ns, self.request.duration_ns),
            times: self.times(flow),
            ahead_of_realtime_ns: path.clock.ahead_of_ns(Clock::Realtime),
            wire_bytes: path.wire_bytes,
            unstamped: 0,
            stamped_by_device: 0,
        }
    }

    fn about(&self, flow: usize) -> FlowSeries {
        let (network, path) = (self.network(), &self.paths[flow]);
        let schedule = self.scene.schedules().iter().find(|schedule| schedule.port == path.port);
        let bps = schedule.and_then(|schedule| schedule.link_bps.get()).unwrap_or(10_000_000);
        let guard_ns = path.wire_bytes * 8 * 1_000_000_000 / bps.max(1);
        FlowSeries {
            flow: network.flows[flow].name.value.clone(),
            class: path.class,
            port: path.port.clone(),
            listener: network.hosts[network.flows[flow].listener.value].name.value.clone(),
            stamped_by: StampSource::Software,
            cycle_ns: schedule.map_or(path.cycle_ns, |schedule| schedule.cycle_ns),
            phases: PhaseHistogram::default(),
            windows: schedule.map_or_else(Vec::new, |schedule| schedule.windows(path.class, guard_ns)),
            frames: FrameCount::default(),
            early: OutOfSlot::default(),
            late: OutOfSlot::default(),
            drift: Vec::new(),
            dequeue_to_receive: None,
            tai_minus_utc_s: tai_minus_utc(),
        }
    }

    /// Each listener says a word to each of its talkers, so that switches know where it is.
    fn say_hello(&self) -> Result<(), String> {
        let network = self.network();
        for flow in &network.flows {
            let (talker, listener) = (flow.talker.value, flow.listener.value);
            let interface = self.scene.interface(listener);
            let bytes = frame::hello(self.scene.address(listener), self.scene.address(talker), &flow.marks);
            self.scene
                .in_host(listener, || PacketSocket::sender(interface).and_then(|socket| socket.send(&bytes)))?
                .map_err(|error| self.of_host(listener, &error))?;
        }
        Ok(())
    }

    fn talkers(&self) -> Result<Vec<Talker>, String> {
        let network = self.network();
        let talker = |index: usize| {
            let (flow, path) = (&network.flows[index], &self.paths[index]);
            let host = flow.talker.value;
            let interface = self.scene.interface(host);
            let opened = self.scene.in_host(host, || PacketSocket::sender(interface))?;
            let (source, destination) = (self.scene.address(host), self.scene.address(flow.listener.value));
            let template = Template::new(&flow.marks, source, destination, flow.size.value as usize)
                .map_err(|reason| format!("flow '{}': {reason}", flow.name.value))?;
            let socket = opened.map_err(|error| self.of_host(host, &error))?;
            let launch = self.scene.etf(host).map(|etf| Launch::prepare(etf, &socket)).transpose();
            let launch =
                launch.map_err(|reason| format!("host {}: {reason}", network.hosts[host].name.value))?;
            if self.scene.is_of_machine()
                && let Some(pcp) = flow.marks.pcp
            {
                // Which queue a talker's own interface sends it by.
                socket.set_priority(u32::from(pcp)).map_err(|error| self.of_host(host, &error))?;
            }
            Ok(Talker {
                flow: index as u8,
                phase: self.index as u8,
                socket,
                template,
                launch,
                pace: flow.pace,
                clock: path.clock,
                base_ns: path.base_ns,
            })
        };
        (0..network.flows.len()).map(talker).collect()
    }

    fn of_host(&self, host: usize, error: &std::io::Error) -> String {
        let advice = match error.kind() {
            std::io::ErrorKind::PermissionDenied => "; raw frames take root, or the capability CAP_NET_RAW",
            _ => "",
        };
        format!("host {}: {error}{advice}", self.network().hosts[host].name.value)
    }

    fn outcome(&self, sent: &[u64], harvests: Vec<(usize, Harvest)>, watch: Option<DequeueWatch>) -> Outcome {
        let mut series: Vec<(u8, Series)> = Vec::new();
        let (mut remarks, mut spoilt_by) = (Vec::new(), Vec::new());
        for (port, waiting, dropped) in self.scene.queues() {
            if waiting > 0 {
                spoilt_by.push(format!(
                    "{waiting} frames wait in {port} and do not leave: its gates stand still, or never open for them"
                ));
            }
            if dropped > 0 {
                remarks.push(format!("{port} dropped {dropped} frames, warm-up included: its queues were full, or the frames too long for their slots"));
            }
        }
        let costs = watch.map(DequeueWatch::end).unwrap_or_default();
        let mut frames: Vec<ObservedFrame> = Vec::new();
        for (host, harvest) in harvests {
            if let Some(kept) = harvest.frames {
                let ahead_ns = harvest.flows.first().map_or(0, |(_, heard)| heard.ahead_of_realtime_ns);
                if kept.left_out > 0 {
                    remarks.push(format!(
                        "the list of frames has the first {FRAMES_MAX} that {} received, warm-up included; {} more are not in it",
                        self.network().hosts[host].name.value,
                        kept.left_out
                    ));
                }
                let classes: Vec<u8> = self.paths.iter().map(|path| path.class).collect();
                frames.extend(observed::of(kept, &classes, costs.get(&host), &harvest.stamps_ns, ahead_ns));
            }
            let cost = costs.get(&host).and_then(|times| times.cost(&harvest.stamps_ns));
            let by_device = harvest.behind_ns.is_some();
            remarks.extend(harvest.remark);
            if let Some(behind_ns) = harvest.behind_ns {
                remarks.push(format!(
                    "{} stamped what it received by its own clock, which was {behind_ns} ns behind CLOCK_REALTIME at the end",
                    self.scene.interface(host)
                ));
            }
            for (flow, heard) in harvest.flows {
                let name = &self.network().flows[usize::from(flow)].name.value;
                if heard.unstamped > 0 {
                    spoilt_by
                        .push(format!("{} frames of flow '{name}' came without a time", heard.unstamped));
                }
                if heard.stamped_by_device > 0 && !by_device {
                    remarks.push(format!(
                        "the device stamped {} frames of flow '{name}' itself; the kernel's times are used",
                        heard.stamped_by_device
                    ));
                }
                let sent = sent.get(usize::from(flow)).copied();
                series.push((flow, heard.recorder.series(self.index, sent, cost)));
            }
        }
        series.sort_by_key(|(flow, _)| *flow);
        frames.sort_by_key(|frame| frame.arrival.arrived_ns);
        let start_ns = self.start_ns - self.run_start_ns;
        Outcome {
            start_ns,
            end_ns: start_ns + self.request.duration_ns,
            series: series
                .into_iter()
                .map(|(_, mut series)| {
                    series.counted_ns = series.counted_ns.max(self.request.duration_ns);
                    series
                })
                .collect(),
            frames,
            remarks,
            spoilt_by,
        }
    }
}
