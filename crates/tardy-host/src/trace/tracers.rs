//! Decodes the entries of the kernel's latency tracers: timerlat, osnoise and hwlat (kernel/trace/trace_entries.h).
//!
//! Their entries have formats like events, under `events/ftrace/`, and are read from the same pages.

use std::collections::BTreeMap;

use tardy_record::plan::Tracer;
use tardy_record::series::Level;

use super::format::{Field, Format};

/// Sources of noise that osnoise counts, in the order of `by_source`, and their fields.
const SOURCES: [(&str, &str); 5] = [
    ("hardware", "hw_count"),
    ("nmi", "nmi_count"),
    ("irq", "irq_count"),
    ("softirq", "softirq_count"),
    ("thread", "thread_count"),
];

/// One entry of a tracer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sample {
    /// timerlat: the latency at one level.
    Latency {
        /// Number of the activation, from 1.
        number: u64,
        /// The level.
        level: Level,
        /// The latency, in ns.
        late_ns: i64,
    },
    /// osnoise, hwlat: the interruptions of the CPU in one period.
    Noise {
        /// Total, in ns.
        noise_ns: i64,
        /// The longest single gap, in ns.
        longest_ns: u64,
        /// How often each source interrupted.
        by_source: BTreeMap<&'static str, u64>,
    },
}

/// The layout of a tracer's entries.
#[derive(Clone, Debug)]
pub struct TracerLayout {
    tracer: Tracer,
    kind: Field,
    format: Format,
}

impl TracerLayout {
    /// The layout that `events/ftrace/TRACER/format` describes.
    ///
    /// # Errors
    /// If a needed field is missing. No known kernel lacks any.
    pub fn of(tracer: Tracer, format: Format) -> Result<Self, String> {
        let needed: &[&str] = match tracer {
            Tracer::Timerlat => &["seqnum", "context", "timer_latency"],
            Tracer::Osnoise => &["noise", "max_sample"],
            Tracer::Hwlat => &["duration", "outer_duration"],
        };
        let lacks = |name: &str| format!("this kernel's {} entries have no field {name}", tracer.name());
        for name in needed {
            format.field(name).ok_or_else(|| lacks(name))?;
        }
        let kind = format.field("common_type").ok_or_else(|| lacks("common_type"))?;
        Ok(Self { tracer, kind, format })
    }

    /// Decodes `bytes`; `None` if it is not an entry of the tracer.
    pub fn sample(&self, bytes: &[u8]) -> Option<Sample> {
        if self.kind.number(bytes)? != u64::from(self.format.id) {
            return None;
        }
        let number = |name: &str| self.format.field(name)?.number(bytes);
        let ns = |name: &str| number(name).map(|ns| i64::try_from(ns).unwrap_or(i64::MAX));
        Some(match self.tracer {
            Tracer::Timerlat => Sample::Latency {
                number: number("seqnum")?,
                level: match number("context")? {
                    0 => Level::Irq,
                    1 => Level::KernelThread,
                    2 => Level::UserThread,
                    _ => return None,
                },
                late_ns: ns("timer_latency")?,
            },
            Tracer::Osnoise => Sample::Noise {
                noise_ns: ns("noise")?,
                longest_ns: number("max_sample")?,
                by_source: SOURCES.iter().filter_map(|(name, field)| Some((*name, number(field)?))).collect(),
            },
            // In us (trace_hwlat.c, get_sample).
            Tracer::Hwlat => {
                let longest = ns("duration")?.max(ns("outer_duration")?).saturating_mul(1000);
                Sample::Noise {
                    noise_ns: longest,
                    longest_ns: longest.unsigned_abs(),
                    by_source: number("nmi_count").map(|count| ("nmi", count)).into_iter().collect(),
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As Linux 6.12 has it.
    const TIMERLAT: &str = "name: timerlat\nID: 19\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:unsigned int seqnum;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:int context;\toffset:12;\tsize:4;\tsigned:1;\n\
        \tfield:u64 timer_latency;\toffset:16;\tsize:8;\tsigned:0;\n";

    fn entry(kind: u16, seqnum: u32, context: u32, latency: u64) -> Vec<u8> {
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.resize(8, 0);
        bytes.extend(seqnum.to_ne_bytes());
        bytes.extend(context.to_ne_bytes());
        bytes.extend(latency.to_ne_bytes());
        bytes
    }

    #[test]
    fn the_three_contexts_are_the_three_levels() {
        let layout = TracerLayout::of(Tracer::Timerlat, Format::parse(TIMERLAT)).unwrap();
        let sample = |context| layout.sample(&entry(19, 7, context, 1400));
        for (context, level) in [(0, Level::Irq), (1, Level::KernelThread), (2, Level::UserThread)] {
            assert_eq!(sample(context), Some(Sample::Latency { number: 7, level, late_ns: 1400 }));
        }
        assert_eq!(sample(3), None);
        assert_eq!(layout.sample(&entry(20, 7, 0, 1400)), None);
    }

    #[test]
    fn entries_without_a_known_field_are_refused_and_the_field_named() {
        let reason = TracerLayout::of(Tracer::Osnoise, Format::parse(TIMERLAT)).unwrap_err();
        assert!(reason.contains("no field noise"), "{reason}");
    }

    proptest! {
        #[test]
        fn no_entry_causes_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let layout = TracerLayout::of(Tracer::Timerlat, Format::parse(TIMERLAT)).unwrap();
            let _ = layout.sample(&bytes);
        }
    }
}
