//! cyclictest's JSON, with the colons in its keys that its parsers know.

use serde_json::{Map, Value, json};
use tardy_record::Run;

use super::{ExportOptions, Rows, name, shown};
use crate::error::ExportError;
use crate::imported::Unit;

/// The text of `run`.
pub(super) fn text(run: &Run, options: &ExportOptions) -> Result<String, ExportError> {
    let unit = options.unit;
    let units = |ns: i64| ns / unit.ns();
    let mut threads = Map::new();
    for (index, series) in shown(run).enumerate() {
        let rows = Rows::of(series, unit, "cyclictest-json")?;
        let histogram: Map<String, Value> =
            rows.counts.iter().map(|(value, count)| (value.to_string(), json!(count))).collect();
        let mean = series.mean_ns().unwrap_or(0.0) / unit.ns() as f64;
        let known_cpu = series.foreign().is_none_or(|foreign| foreign.cpu.is_known());
        let mut thread = json!({
            "histogram": histogram,
            "cycles": series.tally.recorded,
            "min": units(series.min_ns.unwrap_or(0)),
            "max": units(series.max_ns.unwrap_or(0)),
            "avg": (mean * 100.0).round() / 100.0,
            "label": name(run, series),
        });
        // Exactly: cyclictest's own are whole units.
        if series.tally.recorded > 0 {
            (thread["min_ns"], thread["max_ns"]) = (json!(series.min_ns), json!(series.max_ns));
        }
        if known_cpu {
            thread["cpu"] = json!(series.cpu());
        }
        threads.insert(index.to_string(), thread);
    }
    let kernel = &run.facts.kernel;
    let known = |fact: &tardy_record::facts::Fact<String>| fact.get().cloned().unwrap_or_default();
    let date = |text: &str| crate::dates::rfc2822_of(text).unwrap_or_default();
    let document = json!({
        "file_version": 1,
        "cmdline:": run.origin.command.join(" "),
        "rt_test_version:": format!("tardy {}", run.facts.tardy.version),
        "start_time": date(&run.origin.started_at),
        "end_time": "",
        "return_code": u8::from(!run.validity.valid),
        "sysinfo": {
            "sysname": "Linux",
            "nodename": run.origin.host,
            "release": known(&kernel.release),
            "version": known(&kernel.version),
            "machine": known(&kernel.machine),
            "realtime": u8::from(kernel.real_time.get() == Some(&true)),
        },
        "num_threads": threads.len(),
        "resolution_in_ns": u8::from(unit == Unit::Ns),
        "thread": threads,
    });
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    Ok(text + "\n")
}
