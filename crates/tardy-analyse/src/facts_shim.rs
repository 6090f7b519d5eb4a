//! Stands in for `Facts::rows` and `Facts::headline` until those are in tardy-record. To be deleted then.

use tardy_record::facts::{Fact, Facts};

/// One fact in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactRow {
    /// What it is about: `kernel`, `clock`, `cpu`, …
    pub section: String,
    /// Its name.
    pub name: String,
    /// Its value in words; `unknown` where nobody knows.
    pub value: String,
    /// Where it comes from.
    pub how: String,
}

/// The facts as rows.
pub fn rows(facts: &Facts) -> Vec<FactRow> {
    fn row<T>(section: &str, name: &str, fact: &Fact<T>, show: impl Fn(&T) -> String) -> FactRow {
        let value = fact.value.known().map_or_else(|| "unknown".to_owned(), show);
        FactRow { section: section.to_owned(), name: name.to_owned(), value, how: fact.how.clone() }
    }
    let (kernel, clock, cpu, machine) = (&facts.kernel, &facts.clock, &facts.cpu, &facts.machine);
    vec![
        row("kernel", "release", &kernel.release, String::clone),
        row("kernel", "version", &kernel.version, String::clone),
        row("kernel", "preemption", &kernel.preemption, |model| model.name().to_owned()),
        row("kernel", "ticks a second", &kernel.hz, u32::to_string),
        row("clock", "source", &clock.source, String::clone),
        row("clock", "high resolution", &clock.high_resolution, bool::to_string),
        row("cpu", "model", &cpu.model, String::clone),
        row("cpu", "governor", &cpu.governor, |by_cpu| format!("{by_cpu:?}")),
        row("machine", "board", &machine.board, String::clone),
        row("machine", "distribution", &machine.distribution, String::clone),
    ]
}

/// What the kernel is, in one line.
pub fn headline(facts: &Facts) -> String {
    let text = |fact: &Fact<String>| fact.value.known().cloned();
    let preemption = facts.kernel.preemption.value.known();
    let release = text(&facts.kernel.release).unwrap_or_else(|| "unknown".to_owned());
    let machine = text(&facts.machine.board).map_or_else(String::new, |board| format!(", {board}"));
    match preemption {
        Some(model) => format!("Linux {release}, {}{machine}", model.name()),
        None => format!("Linux {release}, preemption model unknown (not shown to be real-time){machine}"),
    }
}
