//! Recognises a file's format by its content: file names can be wrong, and pipes have none.
//!
//! One table describes all formats. The first entry that recognises the beginning of a file wins, so formats
//! with unmistakable marks come before those that are only guessed.

use std::io::Read;

use crate::error::Result;
use crate::export::columns::SERIES_MARK;
use crate::import::{self, ImportOptions};
use crate::imported::Imported;

/// A format that can be imported.
#[derive(Debug)]
pub struct Format {
    /// Its name for `--as`.
    pub name: &'static str,
    /// A description for the user.
    pub about: &'static str,
    recognises: fn(&Head<'_>) -> bool,
    pub(crate) import: fn(&mut dyn Read, &ImportOptions) -> Result<Imported>,
}

/// All formats, in the order in which they are tried.
pub const FORMATS: &[Format] = &[
    Format {
        name: "vcd",
        about: "VCD, a capture from a logic analyser or a simulator",
        recognises: |head| {
            head.text.trim_start().starts_with('$')
                && ["$timescale", "$var", "$enddefinitions"].iter().any(|keyword| head.has(keyword))
        },
        import: import::vcd::import,
    },
    Format {
        name: "sigrok",
        about: "sigrok's session file (.sr): a capture from a logic analyser",
        recognises: |head| import::sigrok::recognises(head.bytes),
        import: import::sigrok::import,
    },
    Format {
        name: "saleae-binary",
        about: "Saleae's binary export of digital channels (Logic 2): digital_0.bin and its siblings",
        recognises: |head| head.bytes.starts_with(import::saleae_binary::MAGIC),
        import: import::saleae_binary::import,
    },
    Format {
        name: "rt-tests-json",
        about: "cyclictest, oslat and other rt-tests, --json",
        recognises: |head| head.is_json() && (head.has("rt_test_version") || head.has("\"cmdline:\"")),
        import: import::rt_tests_json::import,
    },
    Format {
        name: "jitterdebugger",
        about: "jitterdebugger's results.json",
        recognises: |head| {
            head.is_json() && head.has("\"cpu\"") && (head.has("\"sysinfo\"") || head.has("\"histogram\""))
        },
        import: import::jitterdebugger::import,
    },
    Format {
        name: "rteval",
        about: "rteval's summary.xml",
        recognises: |head| head.has("<rteval"),
        import: import::rteval::import,
    },
    Format {
        name: "hdr-log",
        about: "HdrHistogram's interval log, version 2",
        recognises: |head| {
            head.has("Interval_Compressed_Histogram") || head.lines().any(|line| line.contains(",HISTFAAA"))
        },
        import: import::hdr_log::import,
    },
    Format {
        name: "rtla-hist",
        about: "rtla timerlat hist, rtla osnoise hist",
        recognises: |head| head.has("# RTLA ") || head.lines().any(|line| line.starts_with("Index ")),
        import: import::rtla::import_histogram,
    },
    Format {
        name: "rtla-top",
        about: "rtla timerlat top, rtla osnoise top, rtla hwnoise: the last screen",
        recognises: |head| {
            head.has("IRQ Timer Latency (")
                || head.has("Operating System Noise")
                || head.has("Hardware-related Noise")
        },
        import: import::rtla_top::import,
    },
    Format {
        name: "latmus-plot",
        about: "EVL's latmus -g",
        recognises: |head| head.lines().any(|line| line.starts_with("# libevl version")),
        import: import::latmus_plot::import,
    },
    Format {
        name: "xenomai-plot",
        about: "Xenomai's latency -g",
        recognises: |head| {
            head.lines().any(|line| line.starts_with('#') && line.contains(" us period, priority"))
        },
        import: import::xenomai_plot::import,
    },
    Format {
        name: "xenomai",
        about: "Xenomai's latency and EVL's latmus: lines RTT, RTH, RTD, RTS, HSD",
        recognises: |head| head.lines().any(|line| line.trim_start().starts_with("RTT|")),
        import: import::xenomai::import,
    },
    Format {
        name: "oslat",
        about: "oslat's text",
        recognises: |head| {
            head.lines().any(|line| line.starts_with("oslat V") || line.trim_start().starts_with("001 (us):"))
        },
        import: import::oslat_text::import,
    },
    Format {
        name: "hwlatdetect",
        about: "hwlatdetect's text, or the file of its --report",
        recognises: |head| {
            head.lines().map(str::trim_start).any(|line| {
                line.starts_with("hwlatdetect:  test")
                    || (line.starts_with("ts:") && line.contains("inner:") && line.contains("outer:"))
            })
        },
        import: import::hwlatdetect::import,
    },
    Format {
        name: "isochron",
        about: "isochron report, in the format of its manual's first example: seqid N scheduled for S, …",
        recognises: |head| head.lines().next().is_some_and(import::isochron::is_packet),
        import: import::isochron::import,
    },
    Format {
        name: "stress-ng-yaml",
        about: "stress-ng --yaml: the machine (the latencies are in the log)",
        recognises: |head| head.lines().any(|line| line.trim_start().starts_with("stress-ng-version:")),
        import: import::stress_ng::import_yaml,
    },
    Format {
        name: "stress-ng-log",
        about: "stress-ng --cyclic: its log",
        recognises: |head| {
            head.lines().any(|line| line.contains("stress-ng") && line.contains("cyclic: sched "))
        },
        import: import::stress_ng::import_log,
    },
    Format {
        name: "cyclictest-samples",
        about: "cyclictest -v: thread:cycle:value",
        recognises: |head| head.lines().any(is_sample),
        import: import::cyclictest_samples::import,
    },
    Format {
        name: "cyclictest",
        about: "cyclictest's text: histogram (-h, -H, --histfile) and thread lines, quiet or live",
        recognises: |head| {
            head.lines().any(|line| {
                line.starts_with("# Histogram")
                    || is_thread_line(line)
                    || import::cyclictest_text::is_refusal(line)
            })
        },
        import: import::cyclictest_text::import,
    },
    Format {
        name: "level-csv",
        about: "levels over time as CSV: Saleae's Logic 2, sigrok, or any file with times and columns of 0 and 1",
        recognises: |head| import::level_csv::recognises(&head.text),
        import: import::level_csv::import,
    },
    Format {
        name: "columns",
        about: "bare columns of a latency and counts: the OSADL's data files, CSV made with grep and tr",
        recognises: |head| head.are_columns() || head.lines().any(|line| line.starts_with(SERIES_MARK)),
        import: import::columns::import,
    },
    Format {
        name: "jitterdebugger-samples",
        about: "jitterdebugger's samples.raw; results.json in the same directory has the unit",
        recognises: |head| import::jitterdebugger_samples::recognises(head.bytes),
        import: import::jitterdebugger_samples::import,
    },
];

/// The format called `name`.
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The format of a file that begins with `head`.
pub fn of(head: &[u8]) -> Option<&'static Format> {
    let head = Head { bytes: head, text: String::from_utf8_lossy(head) };
    FORMATS.iter().find(|format| (format.recognises)(&head))
}

/// The beginning of a file.
struct Head<'a> {
    bytes: &'a [u8],
    text: std::borrow::Cow<'a, str>,
}

impl Head<'_> {
    fn is_json(&self) -> bool {
        self.text.trim_start().starts_with('{')
    }

    fn has(&self, mark: &str) -> bool {
        self.text.contains(mark)
    }

    fn lines(&self) -> impl Iterator<Item = &str> {
        self.text.lines().map(str::trim_end)
    }

    /// Whether all lines are rows of at least two numbers, of which the first ascends.
    fn are_columns(&self) -> bool {
        let numbers = |word: &str| word.len() <= 18 && word.bytes().all(|byte| byte.is_ascii_digit());
        let mut rows = 0;
        let mut before = None;
        // The last line of `head` may be incomplete.
        let lines: Vec<&str> =
            self.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        let whole = if self.bytes.ends_with(b"\n") { lines.len() } else { lines.len().saturating_sub(1) };
        for (number, line) in lines.iter().take(whole.min(200)).enumerate() {
            let words: Vec<&str> = import::columns::words(line).collect();
            if number == 0 && import::columns::header(line).is_some() {
                continue;
            }
            if words.len() < 2 || !words.iter().all(|word| numbers(word)) {
                return false;
            }
            let value: Option<u64> = words[0].parse().ok();
            if value.is_none() || before.is_some_and(|before| before >= value) {
                return false;
            }
            before = Some(value);
            rows += 1;
        }
        rows > 0
    }
}

/// `       0:       0:      56`
fn is_sample(line: &str) -> bool {
    let mut parts = line.split(':').map(str::trim);
    let mut number = |most: usize| {
        parts.next().is_some_and(|part| {
            let digits = part.strip_prefix('-').unwrap_or(part);
            (1..=most).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    number(4) && number(18) && number(15) && parts.next().is_none()
}

/// `T: 0 (15321) P:90 I:200 C:  49964 Min: …`
fn is_thread_line(line: &str) -> bool {
    line.trim_start().starts_with("T:") && line.contains(" C:") && line.contains(" Min:")
}
