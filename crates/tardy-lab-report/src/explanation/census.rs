//! Sections with interrupts or preemption off, and the bound of the model: as lines for the terminal, and as tables for the page.

use std::fmt::Write;

use tardy_plot::numbers::{count, counted, harmless, per_cent, short, with_unit};
use tardy_plot::section_lengths;
use tardy_record::census::{Bound, Census, Context, InterruptEntry, Lengths, SectionKind, Sections, Term};

use tardy_present::figures::{self, Marks};
use tardy_present::page::{Element, PageTable, figure, folded_table, heading, paragraph};
use tardy_present::terminal_text::folded;

/// Sections of each kind that the terminal shows; the page shows more, and JSON has all.
const SHOWN: usize = 10;
const SHOWN_ON_PAGE: usize = 50;
const BAR_MAX: u32 = 24;
/// The kinds that are listed. The others are terms of the model.
const LISTED: [SectionKind; 2] = [SectionKind::InterruptsOff, SectionKind::PreemptionOff];

/// The census for the terminal.
pub(super) fn text(census: &Census, ns: u64, width: usize) -> String {
    let mut text = String::new();
    for kind in LISTED {
        let _ = writeln!(text, "\n{}\n", headline(census, kind, ns));
        for (range, number, bar) in octaves(census, kind, ns) {
            let _ = writeln!(text, "  {range:>20} {number:>10}  {bar}");
        }
        let _ = writeln!(text, "\n  {:>9} {:>9} {:>8}  where", "longest", "total", "count");
        for sections in of_kind(census, kind).take(SHOWN) {
            let [place, longest, total, number] = section_cells(sections, ns);
            let place = short(&place, width.saturating_sub(32).max(20));
            let _ = writeln!(text, "  {longest:>9} {total:>9} {number:>8}  {place}");
        }
    }
    let _ = writeln!(
        text,
        "\nInterrupts\n\n  {:>9} {:>9} {:>8} {:>10}  entry",
        "longest", "total", "count", "distance"
    );
    for interrupt in &census.interrupts {
        let [longest, total, number, nearest, name] = interrupt_cells(interrupt, ns);
        let _ = writeln!(text, "  {longest:>9} {total:>9} {number:>8} {nearest:>10}  {name}");
    }
    if let Some(bound) = &census.bound {
        let _ = writeln!(text, "\nBound of the model, from the sections that ran\n");
        for (what, length) in terms(bound, ns) {
            let _ = writeln!(text, "  {length:>9}  {what}");
        }
        let _ = writeln!(text, "\n{}", folded(&bound_sentence(bound, ns), width).join("\n"));
    }
    text
}

/// The census for the page.
pub(super) fn elements(census: &Census, ns: u64) -> Vec<Element> {
    let mut elements = vec![heading(2, "Interrupts and preemption off")];
    let plot = figures::both("sections", Marks::default(), |id, options| {
        section_lengths::draw(id, &census.lengths, &LISTED, ns, options)
    });
    elements.extend(figure(plot, "All sections from the first measured wake-up to the last, by length."));
    for kind in LISTED {
        elements.push(heading(3, headline(census, kind, ns)));
        let rows =
            of_kind(census, kind).take(SHOWN_ON_PAGE).map(|sections| section_cells(sections, ns).to_vec());
        let table = PageTable::new("", &["where", "longest", "total", "count"], rows.collect());
        elements.extend(folded_table("The longest", table));
    }
    let rows = census.interrupts.iter().map(|interrupt| {
        let [longest, total, number, nearest, name] = interrupt_cells(interrupt, ns);
        vec![name, longest, total, number, nearest]
    });
    elements.push(heading(3, "Interrupts"));
    let heads = ["entry", "longest", "total", "count", "shortest distance"];
    elements.push(Element::Table(PageTable::new("", &heads, rows.collect())));
    if let Some(bound) = &census.bound {
        elements.push(heading(3, "Bound of the model, from the sections that ran"));
        elements.push(paragraph("", &bound_sentence(bound, ns)));
        let rows = terms(bound, ns).into_iter().map(|(what, length)| vec![what, length]);
        elements.push(Element::Table(PageTable::new("", &["term", "time"], rows.collect())));
    }
    elements
}

fn of_kind(census: &Census, kind: SectionKind) -> impl Iterator<Item = &Sections> {
    census.sections.iter().filter(move |sections| sections.kind == kind)
}

fn headline(census: &Census, kind: SectionKind, ns: u64) -> String {
    let what = if kind == SectionKind::InterruptsOff { "Interrupts off" } else { "Preemption off" };
    let number = of_kind(census, kind).map(|sections| sections.count).sum();
    let longest = of_kind(census, kind).next().map_or(0, |sections| sections.longest);
    let sections = counted(number, "section", "sections");
    format!("{what}: {sections}, the longest {}", with_unit((longest * ns) as f64))
}

/// For each power of two that has sections: the range, how many, and a bar that grows with the logarithm.
fn octaves(census: &Census, kind: SectionKind, ns: u64) -> Vec<(String, String, String)> {
    let lengths: Option<&Lengths> = census.lengths.iter().find(|lengths| lengths.kind == kind);
    let mut counts = Vec::new();
    for (from, _, number) in lengths.into_iter().flat_map(|lengths| &lengths.bins) {
        let octave = (64 - from.leading_zeros()) as usize;
        counts.resize(counts.len().max(octave + 1), 0);
        counts[octave] += number;
    }
    let most = counts.iter().copied().max().unwrap_or(1);
    let first = counts.iter().position(|number| *number > 0).unwrap_or(0);
    let rows = counts.iter().enumerate().skip(first);
    rows.map(|(octave, number)| {
        let [from, to] = [if octave == 0 { 0 } else { 1 << (octave - 1) }, 1_u64 << octave];
        let range = format!("{} to {}", with_unit((from * ns) as f64), with_unit((to * ns) as f64));
        let columns = match number {
            0 => 0,
            _ => {
                1 + (f64::from(BAR_MAX - 1) * libm::log(*number as f64) / libm::log(most.max(2) as f64))
                    as usize
            }
        };
        (range, count(*number), "█".repeat(columns))
    })
    .collect()
}

fn section_cells(sections: &Sections, ns: u64) -> [String; 4] {
    let [longest, total] = [sections.longest, sections.total].map(|one| with_unit((one * ns) as f64));
    [place(sections), longest, total, count(sections.count)]
}

fn place(sections: &Sections) -> String {
    let context = match sections.context {
        Context::Thread => harmless(&sections.task),
        Context::SoftInterrupt => "soft interrupt".to_owned(),
        Context::Interrupt => "interrupt".to_owned(),
    };
    let (from, to) = (harmless(&sections.from), harmless(&sections.to));
    let functions = if from == to { from } else { format!("{from} to {to}") };
    format!("{functions}, {context}")
}

fn interrupt_cells(interrupt: &InterruptEntry, ns: u64) -> [String; 5] {
    let time = |instructions: u64| with_unit((instructions * ns) as f64);
    let nearest = interrupt.distances_ns.first();
    let nearest = nearest.map_or_else(|| "only one".to_owned(), |distance| with_unit(*distance as f64));
    [
        time(interrupt.longest),
        time(interrupt.total),
        count(interrupt.count),
        nearest,
        harmless(&interrupt.name),
    ]
}

/// What the bound is made of, and how long each part is.
fn terms(bound: &Bound, ns: u64) -> Vec<(String, String)> {
    let time = |instructions: u64| with_unit((instructions * ns) as f64);
    let from_to = |term: &Term| {
        let (from, to, task) = (harmless(&term.from), harmless(&term.to), harmless(&term.task));
        format!("{from} to {to}, {task}")
    };
    let length = |term: &Option<Term>| term.as_ref().map_or(0, |term| term.instructions);
    let is_postponed = length(&bound.postponed) >= length(&bound.switching);
    let mut terms = Vec::new();
    let delays = [
        ("the scheduler is postponed (POID)", &bound.postponed, is_postponed),
        ("a switch in progress (DST)", &bound.switching, !is_postponed),
    ];
    for (name, term, counts) in delays {
        let note = if counts { "" } else { "; shorter, so it does not count" };
        terms.extend(
            term.iter().map(|term| (format!("{name}: {}{note}", from_to(term)), time(term.instructions))),
        );
    }
    if let Some(term) = &bound.to_scheduler {
        terms.push((format!("to the scheduler (PAIE): {}", from_to(term)), time(term.instructions)));
    }
    terms.push((
        format!("to the switch (PSD): {}", from_to(&bound.to_switch)),
        time(bound.to_switch.instructions),
    ));
    for interrupt in &bound.interrupts {
        let each = with_unit((interrupt.each * ns) as f64);
        let each = if interrupt.count == 1 { each } else { format!("{each} each") };
        let what = format!(
            "{} of {each}: {}",
            counted(interrupt.count, "interrupt", "interrupts"),
            harmless(&interrupt.name)
        );
        terms.push((what, time(interrupt.count * interrupt.each)));
    }
    terms
}

/// What the bound is, beside what was observed, and what it is not.
fn bound_sentence(bound: &Bound, ns: u64) -> String {
    let time = |instructions: u64| with_unit((instructions * ns) as f64);
    format!(
        "Together {}. The longest time that was observed from the interrupt to the switch is {}, {} of that. The model does not \
         contain how late the timer itself is, here at most {}, and the way from the switch to the reading of the clock, at most {}. It \
         contains only code that this load ran, on one CPU, without the effects of caches: it is not a bound for a board.",
        time(bound.instructions),
        time(bound.observed),
        per_cent(bound.observed as f64 / bound.instructions.max(1) as f64),
        time(bound.timer),
        time(bound.to_reading),
    )
}
