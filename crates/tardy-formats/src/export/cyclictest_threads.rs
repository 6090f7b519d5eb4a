//! A run's series as threads of cyclictest.

use tardy_record::{Run, Series};

use super::{Rows, name, shown};
use crate::cyclictest::{MIN_OF_NONE, Thread};
use crate::error::ExportError;
use crate::imported::Unit;

/// The series that are shown, in `unit`; `format` names the export in errors.
pub(super) fn of(run: &Run, unit: Unit, format: &'static str) -> Result<Vec<Thread>, ExportError> {
    shown(run).map(|series| thread(run, series, unit, format)).collect()
}

fn thread(run: &Run, series: &Series, unit: Unit, format: &'static str) -> Result<Thread, ExportError> {
    let rows = Rows::of(series, unit, format)?;
    let units = |ns: i64| ns.max(0) as u64 / unit.ns() as u64;
    let known_cpu = series.foreign().is_none_or(|foreign| foreign.cpu.is_known());
    let (priority, interval_ns) = match (series.timer(), series.foreign()) {
        (Some(timer), _) => (Some(timer.priority), Some(timer.interval_ns)),
        (_, Some(foreign)) => (foreign.priority.get(), foreign.interval_ns.get()),
        _ => (None, None),
    };
    // cyclictest prints 0 if there is none.
    let mean = if series.tally.recorded == 0 { Some(0.0) } else { series.mean_ns() };
    Ok(Thread {
        label: Some(name(run, series)),
        priority: priority.unwrap_or(0),
        interval_us: interval_ns.unwrap_or(0) / 1000,
        cpu: known_cpu.then(|| i64::from(series.cpu())),
        cycles: series.tally.recorded,
        min: match series.min_ns {
            None if series.tally.recorded > 0 => 0,
            min_ns => min_ns.map_or(MIN_OF_NONE, units),
        },
        max: series.max_ns.map_or(0, units),
        max_at_least: series.max_at_least,
        exact_ns: series.min_ns.zip(series.max_ns).filter(|_| series.tally.recorded > 0),
        mean: mean.map(|ns| ns.max(0.0) / unit.ns() as f64),
        rows: rows.counts,
        overflows: rows.beyond,
        ..Thread::default()
    })
}
