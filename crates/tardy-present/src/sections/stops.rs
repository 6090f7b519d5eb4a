//! Notes on real-time throttling and the fair server, which stop a spinning real-time thread.

use tardy_analyse::stops::{self, StoppedBy, Stops as Found};
use tardy_record::Run;
use tardy_record::units::format_duration_ns;

use crate::section::{Context, Section};
use tardy_plot::numbers::with_unit;

/// Stops of real-time threads by the kernel.
pub struct Stops;

impl Section for Stops {
    fn name(&self) -> &'static str {
        "stops"
    }

    fn notes(&self, context: &Context<'_>) -> Vec<String> {
        stops::of(context.run).map(|found| note(context.run, found)).into_iter().collect()
    }
}

fn note(run: &Run, stops: Found) -> String {
    let what = if run.series.iter().any(|series| series.gaps().is_some()) { "noise" } else { "busy" };
    let (stop, period) = (with_unit(stops.stop_ns as f64), format_duration_ns(stops.period_ns));
    match stops.by {
        StoppedBy::Throttle => format!(
            "{what}: the kernel stops a real-time thread that spins for more than {} of each {period}. Its maxima of about \
             {stop} are caused by that rule, not by the machine; echo -1 > /proc/sys/kernel/sched_rt_runtime_us disables it.",
            format_duration_ns(stops.period_ns.saturating_sub(stops.stop_ns)),
        ),
        StoppedBy::FairServer => format!(
            "{what}: the kernel's fair server stops a spinning real-time thread for up to {stop} of each {period}, in favour \
             of waiting tasks. Its maxima of about {stop} are caused by that rule, not by the machine; \
             it is set in /sys/kernel/debug/sched/fair_server.",
        ),
    }
}
