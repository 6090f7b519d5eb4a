//! One switch of a file, and waiting for the end of what was asked for.

use std::os::fd::{AsRawFd, RawFd};

use anyhow::{Context, Result, bail};
use tardy_record::units::parse_duration_ns;
use tardy_sys::clock::monotonic_ns;
use tardy_sys::signals::{EndSignals, wait_readable};
use tardy_tsn::network::Switch;

use super::switch_file::{self, SwitchFile};
use crate::args::OneSwitchArgs;

/// The file, and which of its switches is meant.
pub(super) fn find(arguments: &OneSwitchArgs) -> Result<(SwitchFile, usize)> {
    let file = switch_file::find(&arguments.switch.file)?;
    let switches = &file.network.switches;
    let names = || switches.iter().map(|switch| switch.name.value.as_str()).collect::<Vec<_>>().join(", ");
    let index = match &arguments.name {
        Some(name) => switches.iter().position(|switch: &Switch| switch.name.value == *name),
        None if switches.len() == 1 => Some(0),
        None => bail!("{} has several switches ({}); say --switch NAME", file.name, names()),
    };
    match (index, &arguments.name) {
        (Some(index), _) => Ok((file, index)),
        (None, name) => {
            bail!("{} has no switch {}; it has {}", file.name, name.as_deref().unwrap_or(""), names())
        }
    }
}

/// Until when something goes on: the signals that end it, and a time.
pub(super) struct End {
    signals: EndSignals,
    at_ns: Option<u64>,
}

impl End {
    /// After `--for`, and at SIGINT, SIGTERM or SIGHUP, which are caught from now on.
    pub(super) fn after(duration: Option<&str>) -> Result<Self> {
        let duration_ns = duration.map(|text| parse_duration_ns(text).context("--for")).transpose()?;
        let signals = EndSignals::catch().context("signals cannot be caught")?;
        Ok(Self { signals, at_ns: duration_ns.map(|ns| monotonic_ns().saturating_add(ns)) })
    }

    /// Waits until `news` can be read, or the end has come: whether it has.
    pub(super) fn wait(&self, news: &[RawFd]) -> Result<bool> {
        let left_ns = self.at_ns.map_or(u64::MAX >> 2, |at_ns| at_ns.saturating_sub(monotonic_ns()));
        let mut all = vec![self.signals.as_raw_fd()];
        all.extend_from_slice(news);
        wait_readable(&all, left_ns).context("waiting")?;
        let is_over = self.at_ns.is_some_and(|at_ns| monotonic_ns() >= at_ns);
        Ok(self.signals.take().is_some() || is_over)
    }
}
