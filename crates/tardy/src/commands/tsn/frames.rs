//! The list of frames that `tardy tsn simulate` and `tardy tsn test` write: one line of CSV for each.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use tardy_measure::run::result_file::is_same_place;
use tardy_record::plan::SwitchPlan;
use tardy_switch::experiment::ObservedFrame;
use tardy_tsn::network::Network;
use tardy_tsn::simulate::engine::{Arrival, Lost};
use tardy_tsn::simulate::recorded::Audience;

/// Of what frames a list is. One of a simulation says of each frame that does not arrive why; one of a test when the last
/// port's queue took the frame and when it left, each empty where the kernel did not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Simulated,
    Observed,
}

/// A file with a line for every frame. What goes wrong while it is written is told at the end.
pub(super) struct Frames<'a> {
    place: &'a Path,
    names: Vec<&'a str>,
    file: BufWriter<File>,
    failed: Option<std::io::Error>,
}

impl<'a> Frames<'a> {
    /// Begins the file at `place`. `switch` is the switch file's place and what it says.
    pub(super) fn to(place: &'a Path, force: bool, switch: (&str, &'a Network), list: List) -> Result<Self> {
        if is_same_place(Path::new(switch.0), place) {
            bail!("{} is given twice; choose another --frames", place.display());
        }
        if !force && place.exists() {
            bail!("{} exists already; choose another --frames, or say --force", place.display());
        }
        let context = || format!("{} cannot be written", place.display());
        let mut open = File::options();
        open.write(true);
        if force {
            open.create(true).truncate(true);
        } else {
            open.create_new(true);
        }
        let mut file = BufWriter::new(open.open(place).with_context(context)?);
        let more = match list {
            List::Simulated => "lost",
            List::Observed => "queued_ns,left_ns",
        };
        writeln!(file, "phase,flow,sequence,sent_ns,arrived_ns,wire_bytes,{more}").with_context(context)?;
        let names = switch.1.flows.iter().map(|flow| flow.name.value.as_str()).collect();
        Ok(Self { place, names, file, failed: None })
    }

    /// Adds a line to a list of observed frames.
    pub(super) fn add_observed(&mut self, shaped: bool, frame: &ObservedFrame) {
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
        // A name may hold a comma; none of ours' readers needs more than this.
        let name = self.names.get(flow as usize).copied().unwrap_or_default().replace('"', "\"\"");
        let line = writeln!(self.file, "{phase},\"{name}\",{sequence},{sent_ns},{arrived},{bytes},{more}");
        self.failed = self.failed.take().or(line.err());
    }

    /// Ends the file.
    pub(super) fn finish(mut self) -> Result<()> {
        let flushed = self.file.flush();
        let failed = self.failed.take().or(flushed.err());
        failed.map_or(Ok(()), Err).with_context(|| format!("{} could not be written", self.place.display()))
    }
}

/// A list of simulated frames hears of them as they happen.
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
