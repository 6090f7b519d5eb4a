//! One phase of a test: its network, and its talkers and listeners from the first frame to the last.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;

use tardy_record::Series;
use tardy_record::flow::{
    FlowSeries, FrameCount, GateCount, OutOfSlot, PhaseClock, PhaseHistogram, StampSource,
};
use tardy_record::flow_recorder::FlowRecorder;
use tardy_record::reason::Reason;
use tardy_record::series::SeriesKind;
use tardy_record::switch::PortSchedule;
use tardy_record::units::counted;
use tardy_sys::clock::{Clock, monotonic_ns};
use tardy_sys::packet::PacketSocket;
use tardy_tsn::network::Network;
use tardy_tsn::transmission_time::OnCable;

use super::build::Scene;
use super::dequeue::{DequeueTimes, DequeueWatch, PortTimes};
use super::flow_paths::{self, FlowPath};
use super::followed::{self, Followed};
use super::frame::{self, Template};
use super::listener::{FRAMES_MAX, FlowRecord, KeptFrames, Listener, Stamp, lock};
use super::observed::{self, ObservedFrame};
use super::phase_times::PhaseTimes;
use super::stamps::DeviceStamps;
use super::talker::{Launch, Talker, Times};
use super::test_threads::{Ended, Signals, TestThreads};
use super::{Replacement, Test, tai_minus_utc};

/// The size of a listener's receive buffer, in bytes.
const RECEIVE_BUFFER_BYTES: usize = 16 << 20;
/// The rate that the kernel assumes for a link of unknown speed, in bit/s.
const UNKNOWN_BPS: u64 = 10_000_000;
/// The furthest that a schedule's base time may be ahead, in ns.
const BASE_TIME_WAIT_NS: u64 = 60_000_000_000;

/// The result of a phase.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Every frame in the order of its arrival, if they are kept.
    pub frames: Vec<ObservedFrame>,
    /// How long talkers, switches, gates and listeners took, or why that is not known, if frames were followed.
    pub followed: Option<Result<Followed, String>>,
    /// Remarks for the user.
    pub remarks: Vec<String>,
    /// The reasons for which it is invalid.
    pub invalid_because: Vec<Reason>,
}

/// A phase whose network is up. Dropping it removes the network.
pub struct TestPhase<'t> {
    test: &'t Test,
    /// Dropped before `scene`, the network in which they send.
    threads: Option<TestThreads>,
    scene: Scene,
    paths: Vec<FlowPath>,
    index: usize,
    times: PhaseTimes,
    /// When the talkers were asked to stop early.
    stopped_ns: Option<u64>,
    /// The series, once the phase has ended.
    series: Vec<Series>,
    /// When the schedules are replaced, in ns on the monotonic clock; `None`: not, or not any more.
    replace_at_ns: Option<u64>,
    /// What the replacement did.
    replaced: Vec<String>,
    /// Why it failed.
    not_replaced: Option<String>,
}

impl<'t> TestPhase<'t> {
    /// Builds the network of phase `index`, with or without its shapers, or finds it on this machine.
    ///
    /// # Errors
    /// A message for the user: what is missing, or what the kernel reports.
    pub fn build(test: &'t Test, index: usize, shaped: bool) -> Result<Self, String> {
        let network = &test.network;
        let paths: Vec<FlowPath> =
            network.flows.iter().map(|flow| flow_paths::of(network, flow)).collect::<Result<_, _>>()?;
        let scene = match test.namespaces {
            true => Scene::build(network, &test.file, shaped)?,
            false => Scene::of_machine(network, shaped)?,
        };
        let ahead_ns = scene.start_delay_ns();
        if ahead_ns > BASE_TIME_WAIT_NS {
            return Err(format!(
                "a schedule's base time is {} s ahead, and all gates are open until then; use a base time in the past, such as \"0s\"",
                ahead_ns / 1_000_000_000
            ));
        }
        let times = PhaseTimes { run_start_ns: 0, from_ns: 0, to_ns: 0 };
        Ok(Self {
            test,
            threads: None,
            scene,
            paths,
            index,
            times,
            stopped_ns: None,
            series: Vec::new(),
            replace_at_ns: None,
            replaced: Vec::new(),
            not_replaced: None,
        })
    }

    /// The schedules of the ports.
    pub fn schedules(&self) -> &[PortSchedule] {
        self.scene.schedules()
    }

    /// Remarks on the network for the user.
    pub fn remarks(&self) -> &[String] {
        self.scene.remarks()
    }

    /// How long until the schedule of every port is in force, in ns. Frames that are sent earlier must not count.
    pub fn start_delay_ns(&self) -> u64 {
        self.scene.start_delay_ns()
    }

    /// Starts talkers and listeners. `id` names the trace of the frames that leave the last ports.
    ///
    /// # Errors
    /// A message for the user.
    pub fn begin(&mut self, times: PhaseTimes, id: &str) -> Result<(), String> {
        self.times = times;
        if self.test.replacement.is_some() && !self.scene.schedules().is_empty() {
            self.replace_at_ns = Some(u64::midpoint(times.from_ns, times.to_ns));
        }
        let signals = Signals::default();
        let listeners = self.listeners(&signals)?;
        self.say_hello()?;
        let talkers = self.talkers(&signals)?;
        let dequeued = DequeueWatch::start(self.test, &self.scene, id);
        self.threads = Some(TestThreads::start(signals, times, listeners, talkers, dequeued));
        Ok(())
    }

    /// How long until the next [`Self::step`] has something to do, in ns.
    pub fn wait_ns(&self) -> u64 {
        let until_replaced_ns =
            self.replace_at_ns.map_or(u64::MAX, |at_ns| at_ns.saturating_sub(monotonic_ns()));
        self.threads.as_ref().map_or(0, TestThreads::wait_ns).min(until_replaced_ns)
    }

    /// Continues the phase. Call it about once per second, and after [`Self::wait_ns`].
    pub fn step(&mut self) {
        if self.replace_at_ns.is_some_and(|at_ns| monotonic_ns() >= at_ns) {
            self.replace_at_ns = None;
            self.replace();
        }
        self.threads.iter_mut().for_each(TestThreads::step);
    }

    /// Replaces the schedules by those of the test's replacement.
    fn replace(&mut self) {
        let Some(Replacement { network, file }) = &self.test.replacement else { return };
        match self.scene.replace(network, file) {
            Ok(remarks) => self.replaced = remarks,
            Err(error) => self.not_replaced = Some(error),
        }
    }

    /// Whether the phase is over: talkers have ended, and no more frames arrive.
    pub fn has_ended(&self) -> bool {
        self.threads.as_ref().is_none_or(TestThreads::has_ended)
    }

    /// Asks the talkers to stop. Frames under way are still waited for.
    pub fn stop(&mut self) {
        self.stopped_ns.get_or_insert_with(monotonic_ns);
        self.threads.iter().for_each(TestThreads::stop);
    }

    /// Ends talkers and listeners at once, without waiting for frames under way.
    pub fn end(&mut self) {
        self.stopped_ns.get_or_insert_with(monotonic_ns);
        self.threads.iter_mut().for_each(TestThreads::end);
    }

    /// The series of the flows, so far or final. The number of sent frames is unknown until the end, since some are
    /// under way.
    pub fn series(&self) -> Vec<Series> {
        let Some(threads) = &self.threads else { return self.series.clone() };
        let mut series: Vec<(u8, Series)> = Vec::new();
        for flows in threads.flows() {
            for (flow, record) in lock(flows).iter() {
                series.push((*flow, self.counted(record.recorder.series(self.index, None, None))));
            }
        }
        in_order(series)
    }

    /// Ends the threads, waits for the listeners, and returns the results.
    pub fn finish(&mut self) -> Outcome {
        let Some(threads) = self.threads.take() else { return Outcome::default() };
        self.outcome(threads.finish())
    }

    /// For how long frames have counted, in ns.
    pub fn counted_ns(&self) -> u64 {
        let PhaseTimes { from_ns, to_ns, .. } = self.times;
        self.stopped_ns.unwrap_or_else(monotonic_ns).clamp(from_ns, to_ns) - from_ns
    }

    fn counted(&self, mut series: Series) -> Series {
        series.counted_ns = series.counted_ns.max(self.counted_ns());
        series
    }

    fn network(&self) -> &'t Network {
        &self.test.network
    }

    /// The send times of the frames of a flow that count, on its schedule's clock.
    fn times(&self, flow: usize) -> Times {
        let ahead_ns = self.paths[flow].clock.ahead_of_ns(Clock::Monotonic);
        let on_clock = |ns: u64| ns.cast_signed() + ahead_ns;
        Times { start_ns: on_clock(self.times.from_ns), end_ns: on_clock(self.times.to_ns) }
    }

    fn listeners(&self, signals: &Signals) -> Result<Vec<(usize, Listener)>, String> {
        let mut hosts: Vec<usize> = self.network().flows.iter().map(|flow| flow.listener.value).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts.into_iter().map(|host| Ok((host, self.listener(host, signals)?))).collect()
    }

    fn listener(&self, host: usize, signals: &Signals) -> Result<Listener, String> {
        let network = self.network();
        let interface = self.scene.interface(host);
        let opened = self.scene.in_host(host, || PacketSocket::receiver(interface, RECEIVE_BUFFER_BYTES))?;
        let socket = opened.map_err(|error| self.of_host(host, &error))?;
        let of_host = (0..network.flows.len()).filter(|flow| network.flows[*flow].listener.value == host);
        let (device, remark) =
            if self.scene.is_of_machine() { DeviceStamps::begin(interface) } else { (None, None) };
        let source = if device.is_some() { StampSource::Hardware } else { StampSource::Software };
        Ok(Listener {
            socket,
            device,
            remark,
            phase: self.index as u8,
            flows: Arc::new(Mutex::new(
                of_host.map(|flow| (flow as u8, self.record(flow, source))).collect(),
            )),
            run_start_realtime_ns: self.times.run_start_ns.cast_signed()
                + Clock::Realtime.ahead_of_ns(Clock::Monotonic),
            came: Arc::clone(&signals.came),
            stop: Arc::clone(&signals.stop_listening),
            frames: self.test.keep_frames.then(KeptFrames::default),
        })
    }

    fn record(&self, flow: usize, stamped_by: StampSource) -> FlowRecord {
        let PhaseTimes { run_start_ns, from_ns, to_ns } = self.times;
        let path = &self.paths[flow];
        let about = FlowSeries { stamped_by, ..self.about(flow) };
        let base_ns = self.schedule(flow).map_or(path.base_ns, |schedule| schedule.base_ns);
        FlowRecord {
            recorder: FlowRecorder::new(about, base_ns, from_ns - run_start_ns, to_ns - from_ns),
            times: self.times(flow),
            ahead_of_realtime_ns: path.clock.ahead_of_ns(Clock::Realtime),
            wire_bytes: path.wire_bytes,
            unstamped: 0,
            stamped_by_device: 0,
        }
    }

    /// The schedule of a flow's last port.
    fn schedule(&self, flow: usize) -> Option<&PortSchedule> {
        self.scene.schedules().iter().find(|schedule| schedule.port == self.paths[flow].port)
    }

    fn about(&self, flow: usize) -> FlowSeries {
        let (network, path) = (self.network(), &self.paths[flow]);
        let schedule = self.schedule(flow);
        let bps = schedule.and_then(|schedule| schedule.link_bps.get()).unwrap_or(UNKNOWN_BPS);
        let guard_ns = OnCable::of(network.flows[flow].size.value, bps).busy_ns();
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
            at_gate: None,
            tai_minus_utc_s: tai_minus_utc(),
        }
    }

    /// Each listener sends a frame to each of its talkers, so that switches learn its address.
    fn say_hello(&self) -> Result<(), String> {
        let network = self.network();
        for flow in &network.flows {
            let (talker, listener) = (flow.talker.value, flow.listener.value);
            let interface = self.scene.interface(listener);
            let bytes = frame::hello(self.scene.address(listener), self.scene.address(talker), &flow.marks);
            let etf = self.scene.etf(listener);
            let send = || {
                let socket = PacketSocket::sender(interface)?;
                match etf {
                    // ETF drops a frame without a transmit time.
                    Some(etf) => Launch::prepare(etf, &socket)
                        .map_err(std::io::Error::other)?
                        .send_soon(&socket, &bytes),
                    None => socket.send(&bytes),
                }
            };
            self.scene.in_host(listener, send)?.map_err(|error| self.of_host(listener, &error))?;
        }
        Ok(())
    }

    fn talkers(&self, signals: &Signals) -> Result<Vec<(Times, Talker)>, String> {
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
                // Selects the transmit queue of the talker's interface.
                socket.set_priority(u32::from(pcp)).map_err(|error| self.of_host(host, &error))?;
            }
            let talker = Talker {
                flow: index as u8,
                phase: self.index as u8,
                socket,
                template,
                launch,
                pace: flow.pace,
                clock: path.clock,
                base_ns: path.base_ns,
                stop: Arc::clone(&signals.stop_talking),
                sent: Arc::default(),
            };
            Ok((self.times(index), talker))
        };
        (0..network.flows.len()).map(talker).collect()
    }

    fn of_host(&self, host: usize, error: &std::io::Error) -> String {
        let advice = match error.kind() {
            std::io::ErrorKind::PermissionDenied => {
                "; raw frames require root, or the capability CAP_NET_RAW"
            }
            _ => "",
        };
        format!("host {}: {error}{advice}", self.network().hosts[host].name.value)
    }

    /// Turns the threads' results into series, frames and remarks.
    fn outcome(&mut self, ended: Ended) -> Outcome {
        let Ended { sent, listener_results, dequeued, failures } = ended;
        let mut outcome = Outcome {
            invalid_because: failures.into_iter().map(Reason::from).collect(),
            ..Outcome::default()
        };
        self.judge_queues(&mut outcome);
        let is_traced = dequeued.is_some();
        let costs = dequeued.map(DequeueWatch::end).unwrap_or_default();
        let mut series: Vec<(u8, Series)> = Vec::new();
        for (host, flows, mut result) in listener_results {
            let flows = lock(&flows);
            if let Some(kept) = result.frames.take() {
                let ahead_ns = flows.first().map_or(0, |(_, record)| record.ahead_of_realtime_ns);
                if kept.left_out > 0 {
                    outcome.remarks.push(format!(
                        "the list of frames contains the first {FRAMES_MAX} that {} received, including the warm-up; {} later ones are missing",
                        self.network().hosts[host].name.value,
                        kept.left_out
                    ));
                }
                let classes: Vec<u8> = self.paths.iter().map(|path| path.class).collect();
                let times = costs.towards(host);
                outcome.frames.extend(observed::of(kept, &classes, times, &result.stamps, ahead_ns));
            }
            let of_port = costs.towards(host);
            let cost = of_port.and_then(|times| times.cost(&result.stamps));
            let at_gate =
                of_port.map(|times| self.at_gate(times, &result.stamps, &flows)).unwrap_or_default();
            outcome.remarks.extend(result.remark);
            if let Some(behind_ns) = result.behind_ns {
                outcome.remarks.push(format!(
                    "{} time-stamped received frames with its own clock, which was {behind_ns} ns behind CLOCK_REALTIME at the end",
                    self.scene.interface(host)
                ));
            }
            for (flow, record) in flows.iter() {
                self.judge_stamps(*flow, record, result.behind_ns.is_some(), &mut outcome);
                let sent = sent.get(usize::from(*flow)).copied();
                let mut of_flow = self.counted(record.recorder.series(self.index, sent, cost));
                if let SeriesKind::Flow(kind) = &mut of_flow.kind {
                    kind.at_gate = at_gate.get(flow).copied();
                }
                series.push((*flow, of_flow));
            }
        }
        outcome.frames.sort_by_key(|frame| frame.arrival.arrived_ns);
        if self.test.follow && !self.scene.schedules().is_empty() {
            outcome.followed = Some(match is_traced {
                true => self.followed(&costs, &outcome.frames),
                false => Err("the kernel's events qdisc_enqueue and qdisc_dequeue cannot be traced; this requires tracefs".to_owned()),
            });
        }
        outcome.remarks.append(&mut self.replaced);
        outcome.invalid_because.extend(self.not_replaced.take().map(Reason::from));
        self.series = in_order(series);
        outcome
    }

    /// Follows the frames that count from port to port.
    fn followed(&self, ports: &PortTimes, frames: &[ObservedFrame]) -> Result<Followed, String> {
        let clock = self.paths.first().map_or(Clock::Tai, |path| path.clock);
        let trace = followed::Trace {
            network: self.network(),
            ports,
            schedules: self.scene.schedules(),
            ahead_ns: clock.ahead_of_ns(Clock::Realtime),
            etf_delta_ns: self.network().netns.etf_delta_ns.map_or(0, i64::from),
        };
        let times: Vec<Times> = (0..self.paths.len()).map(|flow| self.times(flow)).collect();
        let counts = |frame: &&ObservedFrame| {
            let Times { start_ns, end_ns } = times[frame.arrival.flow as usize];
            (start_ns..end_ns).contains(&frame.arrival.sent_ns)
        };
        followed::follow(&trace, frames.iter().filter(counts))
    }

    /// Whether the frames of each flow were sent while their gates were open. A frame's transmission begins when it leaves
    /// its queue, or when the frame before it has been sent.
    fn at_gate(
        &self,
        times: &DequeueTimes,
        stamps: &[Stamp],
        flows: &[(u8, FlowRecord)],
    ) -> BTreeMap<u8, GateCount> {
        // The event is later than the kernel's decision, by less than the longest time from there to the listener.
        let late_ns = times.cost(stamps).map_or(0, |cost| cost.max_ns);
        let mut counts = BTreeMap::new();
        let mut free_ns = i64::MIN;
        for (stamp, left_ns) in times.departures(stamps).unwrap_or_default() {
            let flow = stamp.flow.and_then(|flow| flows.iter().find(|(known, _)| *known == flow));
            let Some((flow, record)) = flow else {
                continue;
            };
            let Some(schedule) = self.schedule(usize::from(*flow)) else { continue };
            let bps = schedule.link_bps.get().unwrap_or(UNKNOWN_BPS);
            let on_cable = OnCable::of(self.network().flows[usize::from(*flow)].size.value, bps);
            let left_ns = left_ns + record.ahead_of_realtime_ns;
            let start_ns = free_ns.max(left_ns);
            free_ns = start_ns + on_cable.busy_ns().cast_signed();
            if stamp.counts {
                let clock = PhaseClock { base_ns: schedule.base_ns, cycle_ns: schedule.cycle_ns };
                let count: &mut GateCount = counts.entry(*flow).or_default();
                let sent_ns = start_ns + on_cable.sent_ns().cast_signed();
                let slack_ns = on_cable.busy_ns() + late_ns;
                count.add(clock, record.recorder.windows(), (left_ns, sent_ns), slack_ns);
            }
        }
        counts
    }

    fn judge_queues(&self, outcome: &mut Outcome) {
        for (port, waiting, dropped) in self.scene.queues() {
            if waiting > 0 {
                let reason = Reason::FramesStuck { port: port.clone(), frames: u64::from(waiting) };
                outcome.invalid_because.push(reason);
            }
            if dropped > 0 {
                outcome.remarks.push(format!("{port} dropped {}, including the warm-up: its queues were full, or the frames were too long for their slots", counted(u64::from(dropped), "frame", "frames")));
            }
        }
    }

    fn judge_stamps(&self, flow: u8, record: &FlowRecord, by_device: bool, outcome: &mut Outcome) {
        let name = &self.network().flows[usize::from(flow)].name.value;
        if record.unstamped > 0 {
            let reason = Reason::FramesWithoutTime { flow: name.clone(), frames: record.unstamped };
            outcome.invalid_because.push(reason);
        }
        if record.stamped_by_device > 0 && !by_device {
            outcome.remarks.push(format!(
                "the device time-stamped {} of flow '{name}' itself; the kernel's times are used",
                counted(record.stamped_by_device, "frame", "frames")
            ));
        }
    }
}

fn in_order(mut series: Vec<(u8, Series)>) -> Vec<Series> {
    series.sort_by_key(|(flow, _)| *flow);
    series.into_iter().map(|(_, series)| series).collect()
}
