//! `tardy tsn watch`: keeps a switch running.

use std::os::fd::{AsFd, AsRawFd};

use anyhow::{Result, anyhow, bail};
use serde::Serialize;
use tardy_record::units::format_duration_ns;
use tardy_switch::saved_states::{SavedStates, up};
use tardy_switch::{Repaired, Watch};
use tardy_tsn::settings;

use super::one_switch::{self, End};
use tardy_args::TsnWatchArgs;
use tardy_command::{Exit, output};

/// Watches for the duration of `--for`, or until Ctrl-C.
pub(crate) fn run(arguments: &TsnWatchArgs) -> Result<Exit> {
    let (file, index) = one_switch::find(&arguments.one)?;
    let settings = settings::of(&file.network.switches[index]);
    let end = End::after(arguments.duration)?;
    let name = &settings.bridge.name;
    let state = up(&SavedStates::own(), name).map_err(|reason| anyhow!(reason))?;
    match state {
        Some(state) if state.file == file.text => {}
        Some(_) => bail!("{name} was applied from a file other than {}; apply this file first", file.name),
        None => bail!("{name} is not active; run 'tardy tsn apply {}' first", file.name),
    }
    let mut watch = Watch::begin(&settings).map_err(|reason| anyhow!(reason))?;
    output::report(&format!("watching {}", settings.bridge.name));
    watch.remarks().iter().for_each(|remark| output::report(remark));
    let mut total = Total::default();
    loop {
        for repaired in watch.look().map_err(|reason| anyhow!(reason))? {
            report(&repaired);
            total.add(&repaired);
        }
        let news = watch.monitor().as_fd().as_raw_fd();
        if end.wait(&[news])? {
            break;
        }
    }
    if arguments.json {
        output::print_json(&total)?;
    } else {
        output::report(&total.summary());
    }
    Ok(if total.failed > 0 { Exit::Failed } else { Exit::Done })
}

/// What happened while the switch was watched.
#[derive(Default, Serialize)]
struct Total {
    /// How often stopped gates run again.
    repaired: u64,
    /// How often the kernel refused the shaper.
    failed: u64,
    /// The time in which gates were stopped, of all ports together.
    stood_still_ns: u64,
    /// Frames that waited at stopped gates and were dropped.
    dropped: u64,
}

impl Total {
    fn add(&mut self, one: &Repaired) {
        self.repaired += u64::from(one.failed.is_none());
        self.failed += u64::from(one.failed.is_some());
        self.stood_still_ns += one.stood_still_ns;
        self.dropped += u64::from(one.dropped);
    }

    fn summary(&self) -> String {
        format!(
            "gates stopped {} times, {} in total; repaired {}, not repaired {}; {} frames dropped",
            self.repaired + self.failed,
            format_duration_ns(self.stood_still_ns),
            self.repaired,
            self.failed,
            self.dropped
        )
    }
}

fn report(repaired: &Repaired) {
    let Repaired { port, cause, stood_still_ns, waiting_frames, dropped, failed } = repaired;
    let stood = format_duration_ns(*stood_still_ns);
    let lost = format!("{waiting_frames} frames were queued, {dropped} dropped");
    output::report(&match failed {
        None => format!("{port}: {cause}; its gates stopped for {stood} and run again; {lost}"),
        Some(reason) => {
            format!("{port}: {cause}; its gates have stopped, and the kernel refuses the shaper: {reason}")
        }
    });
}
