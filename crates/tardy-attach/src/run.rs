//! The run that watching a program results in.

use tardy_record::facts::Facts;
use tardy_record::foreign::LOADS_UNKNOWN;
use tardy_record::load_spec::LoadSpec;
use tardy_record::plan::{PhasePlan, Plan, ProbePlan, Span};
use tardy_record::program::ProgramPlan;
use tardy_record::run::{Origin, Phase, Run, State};
use tardy_record::units::{counted, format_duration_ns};
use tardy_record::validity;

use crate::session::{End, Request, Watched};

/// The plan of watching a program.
pub fn plan(request: &Request, counted_ns: u64) -> Plan {
    let probe =
        ProbePlan::Program(ProgramPlan { target: request.named.clone(), deadline_ns: request.deadline_ns });
    let phase = PhasePlan {
        label: "program".to_owned(),
        round: 1,
        // tardy does not know what else runs.
        loads: vec![LoadSpec::Unrecognised(LOADS_UNKNOWN.to_owned())],
        warmup_ns: request.warmup_ns,
        span: Span::DurationNs(request.duration_ns.unwrap_or(counted_ns)),
        probe,
    };
    Plan {
        recipe: "none".to_owned(),
        scale: 1.0,
        limit_ns: request.limit_ns,
        thresholds_ns: request.limit_ns.into_iter().collect(),
        phases: vec![phase],
        ..Plan::default()
    }
}

/// The run.
pub fn of(request: &Request, watched: Watched, origin: Origin, facts: Facts) -> Run {
    let (start_ns, end_ns) = watched.counted_ns;
    let mut run = Run::begun(origin, plan(request, end_ns - start_ns), facts);
    run.start_monotonic_ns = Some(watched.run_start_ns);
    // The plan has the counted time if the user named none.
    run.progress.planned_ns = request.duration_ns.unwrap_or(0);
    run.progress.state = match watched.end {
        End::Interrupted => State::Interrupted,
        End::Planned | End::Program | End::Listener => State::Complete,
        End::NotYet => State::Running,
    };
    run.phases.push(Phase {
        label: "program".to_owned(),
        start_ns,
        end_ns: (watched.end != End::NotYet).then_some(end_ns),
        remarks: remarks(request, &watched),
        ..Phase::default()
    });
    run.series = watched.series;
    run.refresh_progress();
    run.validity = validity::judge(&run);
    run
}

/// What limits the conclusions.
fn remarks(request: &Request, watched: &Watched) -> Vec<String> {
    let mut remarks = Vec::new();
    let (start_ns, end_ns) = watched.counted_ns;
    if let Some(failure) = &watched.failure {
        remarks.push(format!("watching ended early: {failure}"));
    }
    if watched.end == End::Listener {
        remarks.push("watching ended because a cycle was late, as --stop-on-late demands".to_owned());
    }
    if watched.end == End::Program && request.duration_ns.is_some_and(|planned| end_ns - start_ns < planned) {
        remarks.push(format!("the program ended after {}", format_duration_ns(end_ns - start_ns)));
    }
    if watched.lost_events > 0 {
        remarks.push(format!(
            "the kernel's buffers lost {}; the cycles that were lost with them are counted as dropped; a larger --buffer loses fewer",
            counted(watched.lost_events, "event", "events")
        ));
    }
    if let Some(cost) = watched.cost {
        let us = |ns: f64| format!("{:.1} us", ns / 1000.0);
        remarks.push(format!(
            "recording costs the watched threads about {} of CPU time each time they run ({} instead of {}, in the warm-up)",
            us(cost.cost_ns().max(0.0)),
            us(cost.recorded_ns),
            us(cost.unrecorded_ns)
        ));
    }
    let kinds = [
        ("periodic thread has", "periodic threads have"),
        ("chain of threads has", "chains of threads have"),
        ("marked stretch has", "marked stretches have"),
    ];
    for (count, (one, several)) in watched.left_out.into_iter().zip(kinds).filter(|(count, _)| *count > 0) {
        let left_out = counted(count, one, several);
        remarks.push(format!("{left_out} no series, because there are too many; --thread chooses threads"));
    }
    if let Some(error) = &watched.refused_probe {
        remarks.push(format!("a USDT probe of the program marks nothing: {error}"));
    }
    if watched.unseen_marker {
        remarks.push(
            "the program has trace_marker open, and its marks are not seen: Linux before 6.16 does not copy them to other \
             buffers; `tardy exec` passes the path of another file in TARDY_TRACE_MARKER, and USDT probes need no file"
                .to_owned(),
        );
    }
    remarks.extend(watched.places.iter().cloned());
    remarks
}
