//! A synthetic tracer: samples generated from a seed, as a kernel with the tracer would have written them.

use std::collections::BTreeMap;

use tardy_record::plan::{Tracer, TracerPlan};
use tardy_record::series::Level;

use tardy_host::trace::tracers::Sample;

/// Generates samples.
pub(super) struct SyntheticTracer {
    plan: TracerPlan,
    state: u64,
}

impl SyntheticTracer {
    /// The tracer of `plan` in a phase of this seed.
    pub(super) fn new(seed: u64, plan: &TracerPlan) -> Self {
        Self { plan: plan.clone(), state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// Passes all samples from `from_ns` to `to_ns` to `take(cpu, time, sample)`.
    pub(super) fn samples(&mut self, from_ns: u64, to_ns: u64, mut take: impl FnMut(u32, u64, Sample)) {
        for cpu in self.plan.cpus.clone() {
            for number in 1..=(to_ns - from_ns) / self.plan.period_ns {
                let at_ns = from_ns + number * self.plan.period_ns;
                let spread = self.random() % 1000;
                if self.plan.tracer != Tracer::Timerlat {
                    let by_source = BTreeMap::from([("irq", spread % 5), ("thread", 1)]);
                    let noise_ns = 5000 + spread as i64 * 10;
                    take(cpu, at_ns, Sample::Noise { noise_ns, longest_ns: 3000 + spread, by_source });
                    continue;
                }
                let levels = [(Level::Irq, 1200), (Level::KernelThread, 3900), (Level::UserThread, 4800)];
                for (level, base_ns) in levels {
                    take(cpu, at_ns, Sample::Latency { number, level, late_ns: base_ns + spread as i64 });
                }
            }
        }
    }
}
