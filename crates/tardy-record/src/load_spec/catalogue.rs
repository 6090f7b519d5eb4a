//! The table of loads.

use super::arguments::{
    SchedulerShape, iperf3_arguments, memory_mib, port, stress_ng_arguments, timers_per_cpu, words,
};
use super::task::LoadTask;

/// A load in the table.
#[derive(Clone, Copy, Debug)]
pub struct CatalogueEntry {
    /// Its syntax: its name, then a colon and its argument. `[` and `]` enclose optional parts.
    pub form: &'static str,
    /// What it does.
    pub about: &'static str,
    /// An example, for a load whose argument is mandatory.
    pub(super) example: Option<&'static str>,
    /// Its tasks for an argument, or the error in the argument.
    pub(super) tasks: fn(&str) -> Result<Vec<LoadTask>, String>,
}

impl CatalogueEntry {
    const fn new(
        form: &'static str,
        about: &'static str,
        tasks: fn(&str) -> Result<Vec<LoadTask>, String>,
    ) -> Self {
        Self { form, about, example: None, tasks }
    }

    const fn with_example(self, example: &'static str) -> Self {
        Self { example: Some(example), ..self }
    }

    /// The name alone.
    pub fn name(&self) -> &'static str {
        self.form.split(['[', ':']).next().unwrap_or(self.form)
    }

    /// The argument in `text`, which may be empty; `None` if `text` does not name this load.
    pub(super) fn argument_of<'a>(&self, text: &'a str) -> Option<&'a str> {
        let rest = text.strip_prefix(self.name())?;
        if rest.is_empty() {
            return Some("");
        }
        // `tardy load sink HOST` separates the host by a blank. A command must have a colon: `cmd x` may be a mistyped
        // name.
        let separators: &[char] = if self.name() == "sink" { &[':', ' '] } else { &[':'] };
        let argument = rest.strip_prefix(separators).map(str::trim)?;
        (self.form.contains(':') && !(argument.is_empty() && self.form.contains('['))).then_some(argument)
    }
}

/// The forms of all loads, for errors.
pub(super) fn forms() -> String {
    CATALOGUE.map(|entry| entry.form).join(", ")
}

/// The loads.
pub const CATALOGUE: [CatalogueEntry; 22] = [
    CatalogueEntry::new("none", "nothing", |_| Ok(Vec::new())),
    CatalogueEntry::new(
        "doload",
        "the AT91SAM article's script: scheduler, network, copy and listing at once",
        |_| {
            let scheduler = LoadTask::Scheduler(SchedulerShape::default());
            Ok(vec![scheduler, LoadTask::Network, LoadTask::Copy, LoadTask::Listing])
        },
    ),
    CatalogueEntry::new(
        "scheduler[:GROUPS,PAIRS,BYTES]",
        "hackbench's groups (1 of 20 senders and 20 receivers, messages of 100 bytes), killed and forked again every 5 s",
        |argument| Ok(vec![LoadTask::Scheduler(argument.parse()?)]),
    ),
    CatalogueEntry::new("network", "4 MiB over TCP port 5566 every 7 s, to --peer or over loopback", |_| {
        Ok(vec![LoadTask::Network])
    }),
    CatalogueEntry::new("copy", "dd from /dev/zero to /dev/null", |_| Ok(vec![LoadTask::Copy])),
    CatalogueEntry::new("listing", "ls -lR / in a loop", |_| Ok(vec![LoadTask::Listing])),
    CatalogueEntry::new("cpu", "products of small matrices on every CPU", |_| Ok(vec![LoadTask::Cpu])),
    CatalogueEntry::new(
        "memory[:MIB]",
        "copies and random strides through 16 MiB for each CPU: memory bandwidth and cache misses",
        |argument| Ok(vec![LoadTask::Memory { mib: memory_mib(argument)? }]),
    ),
    CatalogueEntry::new(
        "io[:DIRECTORY]",
        "writes, syncs and reads back 16 MiB in /var/tmp, bypassing the page cache",
        |argument| Ok(vec![LoadTask::Io { directory: argument.to_owned() }]),
    ),
    CatalogueEntry::new("fork", "processes that start, write to some pages and exit, on every CPU", |_| {
        Ok(vec![LoadTask::Fork])
    }),
    CatalogueEntry::new(
        "timers[:COUNT]",
        "16 timers of about 1 ms on every CPU, each with a different period",
        |argument| Ok(vec![LoadTask::Timers { per_cpu: timers_per_cpu(argument)? }]),
    ),
    CatalogueEntry::new("signals", "signals handled, and exchanged between processes, on every CPU", |_| {
        Ok(vec![LoadTask::Signals])
    }),
    CatalogueEntry::new(
        "compile[:DIRECTORY]",
        "two parallel builds of C sources, generated or below a directory; needs a C compiler",
        |argument| Ok(vec![LoadTask::Compile { directory: argument.to_owned() }]),
    ),
    CatalogueEntry::new(
        "ipi",
        "interrupts from CPU to CPU: page protections, memory barriers and task migration",
        |_| Ok(vec![LoadTask::Mprotect, LoadTask::Affinity]),
    ),
    CatalogueEntry::new("net[:PORT]", "TCP and UDP without pause, to --peer or over loopback", |argument| {
        let port = port(argument)?;
        Ok(vec![LoadTask::Tcp { port }, LoadTask::Udp { port }])
    }),
    CatalogueEntry::new(
        "ping-flood",
        "pings as fast as they are answered, to --peer or over loopback",
        |_| Ok(vec![LoadTask::Ping]),
    ),
    CatalogueEntry::new("ping-flood-in", "counts pings from another machine", |_| Ok(vec![LoadTask::PingIn])),
    CatalogueEntry::new(
        "stress-ng:ARGS",
        "stress-ng in rounds of 2 s; its bogo ops are counted",
        |argument| Ok(vec![LoadTask::StressNg { arguments: stress_ng_arguments(argument)? }]),
    )
    .with_example("stress-ng:--cpu 2 --vm 1"),
    CatalogueEntry::new("hackbench[:ARGS]", "hackbench in a loop; its messages are counted", |argument| {
        Ok(vec![LoadTask::Hackbench { arguments: words(argument)? }])
    }),
    CatalogueEntry::new(
        "iperf3:ARGS",
        "iperf3 for as long as the load lasts; its bytes are counted",
        |argument| Ok(vec![LoadTask::Iperf3 { arguments: iperf3_arguments(argument)? }]),
    )
    .with_example("iperf3:-c 10.0.0.2"),
    CatalogueEntry::new(
        "sink:HOST",
        "receives what network, doload and net on HOST send to their peer",
        |argument| Ok(vec![LoadTask::Sink { host: argument.to_owned() }]),
    )
    .with_example("sink:10.0.0.1"),
    CatalogueEntry::new("cmd:COMMAND", "any command, run by sh -c", |argument| {
        Ok(vec![LoadTask::Command { line: argument.to_owned() }])
    })
    .with_example("cmd:ping -f 10.0.0.2"),
];
