//! The list of frames that `tardy tsn simulate` and `tardy tsn test` write: one CSV line for each.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use tardy_measure::engine::result_file::is_same_place;
use tardy_record::csv::cell;
use tardy_record::plan::SwitchPlan;
use tardy_switch::experiment::ObservedFrame;
use tardy_sys::files;
use tardy_tsn::network::Network;
use tardy_tsn::simulate::engine::{Arrival, Lost};
use tardy_tsn::simulate::recorded::Audience;

/// The source of a list. A simulated list gives the reason for each lost frame; an observed list gives the times at which the
/// last port's queue received and sent the frame, each empty if unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Simulated,
    Observed,
}

/// A file with a line for every frame. Errors while writing are reported at the end.
pub(crate) struct Frames<'a> {
    place: &'a Path,
    names: Vec<&'a str>,
    file: BufWriter<File>,
    failed: Option<std::io::Error>,
}

impl<'a> Frames<'a> {
    /// Creates the file. `switch` is the switch file's path and content.
    pub(crate) fn to(place: &'a Path, force: bool, switch: (&str, &'a Network), list: List) -> Result<Self> {
        if is_same_place(Path::new(switch.0), place) {
            bail!("{} is the switch file; choose another --frames", place.display());
        }
        if !force && place.exists() {
            bail!("{} exists; choose another --frames, or use --force to overwrite", place.display());
        }
        let context = || format!("cannot write {}", place.display());
        let mut file = BufWriter::new(files::open_to_write(place, force).with_context(context)?.file);
        let more = match list {
            List::Simulated => "lost",
            List::Observed => "queued_ns,left_ns",
        };
        writeln!(file, "phase,flow,sequence,sent_ns,arrived_ns,wire_bytes,{more}").with_context(context)?;
        let names = switch.1.flows.iter().map(|flow| flow.name.value.as_str()).collect();
        Ok(Self { place, names, file, failed: None })
    }

    /// Adds a line to a list of observed frames.
    pub(crate) fn add_observed(&mut self, shaped: bool, frame: &ObservedFrame) {
        let text = |at_ns: Option<i64>| at_ns.map(|ns| ns.to_string()).unwrap_or_default();
        let Arrival { flow, sequence, sent_ns, arrived_ns, bytes } = frame.arrival;
        let kernels = format!("{},{}", text(frame.queued_ns), text(frame.left_ns));
        self.line(shaped, (flow, sequence, sent_ns, bytes), Some(arrived_ns), &kernels);
    }

    fn line(
        &mut self,
        shaped: bool,
        (flow, sequence, sent_ns, bytes): (u32, u64, i64, u32),
        arrived_ns: Option<i64>,
        more: &str,
    ) {
        let phase = SwitchPlan::label(shaped);
        let arrived = arrived_ns.map(|ns| ns.to_string()).unwrap_or_default();
        let name = cell(self.names.get(flow as usize).copied().unwrap_or_default());
        let line = writeln!(self.file, "{phase},{name},{sequence},{sent_ns},{arrived},{bytes},{more}");
        self.failed = self.failed.take().or(line.err());
    }

    /// Completes the file.
    pub(crate) fn finish(mut self) -> Result<()> {
        let flushed = self.file.flush();
        let failed = self.failed.take().or(flushed.err());
        failed.map_or(Ok(()), Err).with_context(|| format!("cannot write {}", self.place.display()))
    }
}

/// Adds each frame to a simulated list during the simulation.
impl Audience for Frames<'_> {
    fn arrived(&mut self, shaped: bool, arrival: &Arrival) {
        let Arrival { flow, sequence, sent_ns, arrived_ns, bytes } = *arrival;
        self.line(shaped, (flow, sequence, sent_ns, bytes), Some(arrived_ns), "");
    }

    fn lost(&mut self, shaped: bool, lost: &Lost) {
        let Lost { flow, sequence, sent_ns, bytes, fate } = *lost;
        self.line(shaped, (flow, sequence, sent_ns, bytes), None, fate.word());
    }
}
