//! Selects one switch of a file, and waits for the end of a command.

use std::os::fd::{AsRawFd, RawFd};

use anyhow::{Context, Result};
use tardy_recipe::values::PositiveDuration;
use tardy_recipe::wrong;
use tardy_sys::clock::monotonic_ns;
use tardy_sys::signals::{EndSignals, wait_readable};
use tardy_tsn::network::Switch;

use crate::switch_file::{self, SwitchFile};
use tardy_args::OneSwitchArgs;

/// The file and the index of the switch.
pub(crate) fn find(arguments: &OneSwitchArgs) -> Result<(SwitchFile, usize)> {
    let file = switch_file::find(&arguments.switch.file)?;
    let switches = &file.network.switches;
    let names = || switches.iter().map(|switch| switch.name.value.as_str()).collect::<Vec<_>>().join(", ");
    let index = match &arguments.name {
        Some(name) => switches.iter().position(|switch: &Switch| switch.name.value == *name),
        None if switches.len() == 1 => Some(0),
        None => {
            let which = format!("{} has several switches ({}); choose one with --switch", file.name, names());
            return Err(wrong("switch", which).into());
        }
    };
    let there_is_none = || {
        let name = arguments.name.as_deref().unwrap_or_default();
        wrong("switch", format!("{} has no switch {name}; it has {}", file.name, names()))
    };
    let index = index.ok_or_else(there_is_none)?;
    Ok((file, index))
}

/// When a command ends: at a signal, or after a time.
pub(crate) struct End {
    signals: EndSignals,
    at_ns: Option<u64>,
}

impl End {
    /// After the duration, or at SIGINT, SIGTERM or SIGHUP, which are caught from now on.
    pub(crate) fn after(duration: Option<PositiveDuration>) -> Result<Self> {
        let signals = EndSignals::catch().context("cannot catch signals")?;
        Ok(Self { signals, at_ns: duration.map(|duration| monotonic_ns().saturating_add(duration.ns())) })
    }

    /// Waits until one of `news` is readable or the command is to end. Returns whether it is to end.
    pub(crate) fn wait(&self, news: &[RawFd]) -> Result<bool> {
        let left_ns = self.at_ns.map_or(u64::MAX >> 2, |at_ns| at_ns.saturating_sub(monotonic_ns()));
        let mut all = vec![self.signals.as_raw_fd()];
        all.extend_from_slice(news);
        wait_readable(&all, left_ns).context("waiting")?;
        let is_over = self.at_ns.is_some_and(|at_ns| monotonic_ns() >= at_ns);
        Ok(self.signals.take().is_some() || is_over)
    }
}
