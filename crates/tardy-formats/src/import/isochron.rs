//! isochron's report, one line for each packet, in the format that its manual (isochron-report(1)) gives as the example:
//!
//! `isochron report --printf-format "seqid %u scheduled for %T, TX qdisc %T sw %T hw %T, RX hw %T sw %T\n" --printf-args
//! "qSstTRr"`.
//!
//! `%T` is `sec.nsec`, on CLOCK_TAI, and 0 for a time that was not taken. A packet that did not arrive has no time of reception.

use std::io::Read;

use tardy_record::Knowable;
use tardy_record::foreign::LatePeriods;
use tardy_record::series::Level;
use tardy_record::series_builder::Reading;

use super::samples::{self, Threads};
use super::{ImportOptions, decimal_ns, number};
use crate::error::{ImportError, Result};
use crate::imported::{Imported, ImportedPhase, Readings, Stream, Unit};
use crate::lines::{Line, Lines};

const NS_PER_S: i64 = 1_000_000_000;

/// A line of the report.
struct Packet {
    sequence: u64,
    scheduled_ns: i64,
    /// When it was received, by the network card and by the kernel; 0: no time stamp.
    by_card_ns: i64,
    by_kernel_ns: i64,
}

impl Packet {
    /// When it was received: by the card, if that takes time stamps. `None`: it was not.
    fn received_ns(&self) -> Option<i64> {
        [self.by_card_ns, self.by_kernel_ns].into_iter().find(|at_ns| *at_ns != 0)
    }
}

/// Whether a line is one of this format.
pub(crate) fn is_packet(line: &str) -> bool {
    line.starts_with("seqid ") && line.contains(" scheduled for ") && line.contains(", RX hw ")
}

/// Imports a report: from the scheduled time of each packet to its reception.
pub(crate) fn import(reader: &mut dyn Read, _options: &ImportOptions) -> Result<Imported> {
    let mut imported = Imported {
        tool: "isochron".to_owned(),
        measures: "from the scheduled time of a packet to its reception",
        // The sender sends a packet for each cycle, however late it wakes.
        late_periods: LatePeriods::MadeUp,
        has_no_end: true,
        ..Imported::default()
    };
    let mut report = Report::default();
    let mut lines = Lines::new(reader);
    while let Some(line) = lines.next_line()? {
        imported.cut_short = line.unended;
        // A last line without an end may lack digits.
        if !line.unended && !line.text.trim().is_empty() {
            report.add(packet(line)?, line.number)?;
        }
    }
    imported.last_line = Some(lines.read_lines());
    imported.phases.push(ImportedPhase { label: "isochron".to_owned(), streams: vec![report.stream()?] });
    imported.duration_ns = Some(report.last_ns.saturating_sub(report.first_ns).unsigned_abs());
    Ok(imported)
}

/// Parses a line.
fn packet(line: Line<'_>) -> Result<Packet> {
    let text = line.whole()?.trim();
    let wrong = || {
        let shown: String = text.chars().filter(|c| !c.is_control()).take(40).collect();
        let reason = format!(
            "'{shown}' is not a packet; expected 'seqid N scheduled for S, TX qdisc S sw S hw S, RX hw S sw S'"
        );
        ImportError::line(line.number, "whole line", reason)
    };
    let rest = text.strip_prefix("seqid ").ok_or_else(wrong)?;
    let (sequence, rest) = rest.split_once(" scheduled for ").ok_or_else(wrong)?;
    let (scheduled, rest) = rest.split_once(", TX qdisc ").ok_or_else(wrong)?;
    let (_, received) = rest.split_once(", RX hw ").ok_or_else(wrong)?;
    let (by_card, by_kernel) = received.split_once(" sw ").ok_or_else(wrong)?;
    let time = |word: &str, field: &str| decimal_ns(word, NS_PER_S, line.number, field);
    Ok(Packet {
        sequence: number(sequence, line.number, "seqid")?,
        scheduled_ns: time(scheduled, "scheduled for")?,
        by_card_ns: time(by_card, "RX hw")?,
        by_kernel_ns: time(by_kernel, "RX sw")?,
    })
}

/// What the packets so far contain.
#[derive(Default)]
struct Report {
    readings: Threads<()>,
    /// The number of the last packet.
    sequence: u64,
    /// The packets without a reading.
    lost: u64,
    /// The scheduled times of the first and the last packet.
    first_ns: i64,
    last_ns: i64,
    /// The shortest time between the scheduled times of two packets, for each number between them.
    period_ns: Option<u64>,
    /// Whether the card took the times of reception.
    by_card: Option<bool>,
}

impl Report {
    fn add(&mut self, packet: Packet, line: u64) -> Result<()> {
        if packet.sequence <= self.sequence {
            let reason = format!(
                "it follows {}; a second measurement begins here; split the file and import each part",
                self.sequence
            );
            return Err(ImportError::line(line, "seqid", reason));
        }
        let since = packet.sequence - self.sequence;
        if self.sequence == 0 {
            self.first_ns = packet.scheduled_ns;
        } else {
            let passed_ns = packet.scheduled_ns.checked_sub(self.last_ns).filter(|ns| *ns > 0);
            let passed_ns = passed_ns.ok_or_else(|| {
                ImportError::line(line, "scheduled for", "it is not after that of the packet before")
            })?;
            self.lost += since - 1;
            let period_ns = passed_ns.unsigned_abs() / since;
            self.period_ns = Some(self.period_ns.map_or(period_ns, |least_ns| least_ns.min(period_ns)));
        }
        (self.sequence, self.last_ns) = (packet.sequence, packet.scheduled_ns);
        let Some(received_ns) = packet.received_ns() else {
            self.lost += 1;
            return Ok(());
        };
        let by_card = packet.by_card_ns != 0;
        if *self.by_card.get_or_insert(by_card) != by_card {
            let reason = "the packets before have their times from another place: the card or the kernel";
            return Err(ImportError::line(line, "RX hw", reason));
        }
        let Some(value_ns) = received_ns.checked_sub(packet.scheduled_ns) else {
            return Err(ImportError::line(line, "RX", "it is longer than a measurement can be"));
        };
        if self.readings.is_empty() {
            samples::begin(&mut self.readings, 0, Unit::Ns, ());
        }
        if let Some(Some((builder, ()))) = self.readings.first_mut() {
            let at_ns = packet.scheduled_ns.saturating_sub(self.first_ns).unsigned_abs();
            builder.record(Reading { value_ns, at_ns, cycle: packet.sequence - 1, missed: 0 });
        }
        Ok(())
    }

    fn stream(&self) -> Result<Stream> {
        let Some(Some((builder, ()))) = self.readings.first() else {
            return Err(ImportError::field("the file", "it contains no packet that was received"));
        };
        let mut series = samples::series(builder, Unit::Ns);
        series.tally.missed = Knowable::Known(self.lost);
        series.tally.dropped = Knowable::Known(0);
        series.tally.attempted = Knowable::Known(series.tally.recorded + self.lost);
        let mut stream = Stream::of_thread(0, Readings::Samples(Box::new(series)));
        stream.label = Some("packets".to_owned());
        // The kernel's time stamp is taken when the driver passes the packet on.
        stream.level = if self.by_card == Some(true) { Level::Wire } else { Level::KernelThread };
        stream.interval_ns = self.period_ns;
        Ok(stream)
    }
}
