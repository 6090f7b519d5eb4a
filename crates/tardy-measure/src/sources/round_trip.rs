//! Round trips over a network as a source: the thread of tardy-round-trip.
//!
//! It is a thread of this process, because it needs the caller's network namespace and rights, and the supervisor only waits.

use tardy_host::cgroups::Membership;
use tardy_record::Series;
use tardy_record::plan::RoundTripPlan;
use tardy_record::reason::Reason;
use tardy_round_trip::exchange::{self, Exchange};
use tardy_round_trip::link_settings;
use tardy_round_trip::recorder::{Recorder, Span};
use tardy_round_trip::thread::RoundTrips;
use tardy_sys::clock::monotonic_ns;
use tardy_sys::dma_latency::DmaLatency;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::scheduling;

use crate::engine::{Counted, Finished, KillReason, PhaseContext, Ready, Source, SourceProgress, Supervisor};

/// Time before the first request, in ns.
const START_DELAY_NS: u64 = 10_000_000;
/// How often the end of the thread is looked for once the time is up, in ns.
const END_LOOK_NS: u64 = 20_000_000;

/// The round trips of one phase.
pub(crate) struct RoundTripSource<'r> {
    context: PhaseContext<'r>,
    plan: &'r RoundTripPlan,
    /// The thread, until it has ended.
    trips: Option<RoundTrips>,
    /// Set once the source has started.
    counting: Option<(Counted, Recorder)>,
    /// Held during the phase.
    _idle_states: Option<DmaLatency>,
    /// The cgroup that owns the thread's CPU, with this process in it, until the thread has ended.
    cgroup: Option<Membership>,
}

impl<'r> RoundTripSource<'r> {
    /// The round trips of `plan`, not started.
    pub(crate) fn new(context: PhaseContext<'r>, plan: &'r RoundTripPlan) -> Self {
        Self { context, plan, trips: None, counting: None, _idle_states: None, cgroup: None }
    }

    fn drain(&mut self) {
        let (Some(trips), Some((_, recorder))) = (&self.trips, &mut self.counting) else { return };
        while let Some(record) = trips.take() {
            recorder.add(&record);
        }
        recorder.add_unrecorded(trips.take_unrecorded());
    }

    /// A number that other runs do not have, from the run's id (FNV-1a).
    fn number(&self) -> u64 {
        let id = &self.context.request.origin.id;
        let bytes = id.bytes().chain((self.context.index as u64).to_le_bytes());
        bytes
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}

impl Source for RoundTripSource<'_> {
    fn set_up(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<Ready, String> {
        let request = self.context.request;
        if request.fake.is_some() {
            return Err("round trips are not simulated; remove --fake".to_owned());
        }
        let mut exchange = Exchange::open(self.plan, self.number())?;
        exchange.check(&exchange::peer_name(self.plan))?;
        let mut remarks = Vec::new();
        if !exchange.stamps_sent() {
            remarks.push(
                "this kernel does not stamp sent packets, so that round trips have no parts".to_owned(),
            );
        }
        if let Some(link) = exchange.link() {
            let advice = link_settings::advice(&KernelFiles::real(), link, self.plan.cpu);
            remarks.extend(advice.iter().map(link_settings::Advice::text));
        }
        if let Some(latency_us) = self.plan.dma_latency_us {
            match DmaLatency::hold(latency_us) {
                Ok(held) => self._idle_states = Some(held),
                Err(error) => remarks.push(format!("idle states are not limited: {error}")),
            }
        }
        if let Some(directory) = request.plan.placement.cgroup_of(self.plan.cpu) {
            self.cgroup = Some(Membership::enter(&KernelFiles::real(), directory)?);
            remarks.push(format!(
                "tardy's supervisor runs on the CPUs of {directory} during the phase, because the thread that measures is one of its own"
            ));
        }
        let trips = RoundTrips::prepare(exchange, self.plan)?;
        if let Some(refused) = &trips.refused {
            if request.requires_policy {
                return Err(format!("{refused}; --allow-degraded measures without"));
            }
            remarks.push(refused.clone());
        }
        self.trips = Some(trips);
        Ok(Ready { remarks, ..Ready::default() })
    }

    fn start_delay_ns(&self) -> u64 {
        START_DELAY_NS
    }

    fn start(&mut self, counted: Counted) -> Result<(), String> {
        let Some(trips) = &self.trips else { return Err("the thread is not set up".to_owned()) };
        let Counted { run_start_ns, start_ns, from_ns, to_ns } = counted;
        let thresholds_ns = &self.context.request.plan.thresholds_ns;
        let recorder = Recorder::new(self.plan, Span { run_start_ns, from_ns, to_ns }, thresholds_ns);
        self.counting = Some((counted, recorder));
        trips.begin(start_ns, to_ns);
        Ok(())
    }

    fn wait_ns(&self) -> u64 {
        match &self.counting {
            Some((counted, _)) => counted.to_ns.saturating_sub(monotonic_ns()).max(END_LOOK_NS),
            None => u64::MAX,
        }
    }

    fn read(&mut self, _reading: &crate::engine::Reading<'_>) -> Vec<Reason> {
        self.drain();
        Vec::new()
    }

    fn has_ended(&self) -> bool {
        self.trips.as_ref().is_none_or(RoundTrips::has_ended)
    }

    fn stop(&mut self) {
        self.trips.iter().for_each(RoundTrips::stop);
    }

    fn stop_patience_ns(&self) -> u64 {
        2 * self.plan.interval_ns + 1_000_000_000
    }

    fn kill(&mut self, _reason: KillReason) -> Vec<Reason> {
        self.stop();
        Vec::new()
    }

    fn finish(&mut self) -> Finished {
        self.stop();
        self.drain();
        // Dropping the thread waits for its end; what it hands over until then is of no interest.
        self.trips = None;
        if self.cgroup.take().is_some() {
            // The kernel gave this thread every CPU of its cpuset. On which of them it waits for the next phase matters little.
            let _ = scheduling::set_affinity(&[self.context.request.plan.housekeeping_cpu]);
        }
        Finished::default()
    }

    fn progress(&self) -> SourceProgress {
        let Some((counted, recorder)) = &self.counting else { return SourceProgress::default() };
        let (from_ns, to_ns) = (counted.counted_from_ns(), counted.counted_to_ns());
        let now_ns = monotonic_ns().saturating_sub(counted.run_start_ns).clamp(from_ns, to_ns.max(from_ns));
        SourceProgress {
            counted_from_ns: Some(from_ns),
            counted_to_ns: Some(now_ns),
            counted_ns: now_ns - from_ns,
            worst: recorder.max_ns().map(|ns| (ns, self.plan.cpu)),
            missed: 0,
        }
    }

    fn series(&self) -> Vec<Series> {
        self.counting.as_ref().map_or_else(Vec::new, |(_, recorder)| recorder.series(self.context.index))
    }
}
