//! Which format a file is in, told by its content: names of files lie, and pipes have none.
//!
//! One table for all that is known of a format. The first entry that recognises the beginning of a file has it, so that
//! those with an unmistakable mark stand before those that are only likely.

use std::io::Read;

use crate::error::Result;
use crate::import::{self, ImportOptions};
use crate::imported::Imported;

/// A format that can be imported.
pub struct Format {
    /// What `--as` calls it.
    pub name: &'static str,
    /// What it is, for people.
    pub about: &'static str,
    recognises: fn(&Head<'_>) -> bool,
    pub(crate) import: fn(&mut dyn Read, &ImportOptions) -> Result<Imported>,
}

/// All formats, in the order in which they are tried.
pub const FORMATS: &[Format] = &[
    Format {
        name: "rt-tests-json",
        about: "cyclictest, oslat and the others of rt-tests, --json",
        recognises: |head| head.is_json() && (head.has("rt_test_version") || head.has("\"cmdline:\"")),
        import: import::rt_tests_json::import,
    },
    Format {
        name: "cyclictest-samples",
        about: "cyclictest -v: thread:cycle:value",
        recognises: |head| head.lines().any(is_sample),
        import: import::cyclictest_samples::import,
    },
    Format {
        name: "cyclictest",
        about: "cyclictest's text: histogram (-h, -H, --histfile) and threads' lines, quiet or live",
        recognises: |head| {
            head.lines().any(|line| line.starts_with("# Histogram")) || head.lines().any(is_thread_line)
        },
        import: import::cyclictest_text::import,
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

    #[allow(dead_code)]
    fn bytes(&self) -> &[u8] {
        self.bytes
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
