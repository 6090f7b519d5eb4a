//! When the commands of a guest begin, which depends on the seed.

/// The commands of a guest begin at a time between 0 and this after the guest is idle, which depends on the seed.
const START_WITHIN_NS: u64 = 1_000_000_000;

/// How long a guest with this seed waits once it is idle, in ns: uniform between 0 and a second, and without
/// relation between the delays of different seeds ([ADR 25](../../../../docs/adr/0025-exchangeable-boots.md)). The default seed 1
/// begins at once.
pub fn of_seed_ns(seed: u64) -> u64 {
    let share = mixed(seed).wrapping_sub(mixed(1));
    ((u128::from(share) * u128::from(START_WITHIN_NS)) >> 64) as u64
}

/// The first number of the stream of `seed` of SplitMix64 (Steele, Lea and Flood, 2014).
fn mixed(seed: u64) -> u64 {
    let state = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOTS: u64 = 10_000;

    /// The share of `modulus_ns` at which the guest of each consecutive seed begins.
    fn phases(modulus_ns: u64) -> Vec<f64> {
        let phase = |seed| (of_seed_ns(seed) % modulus_ns) as f64 / modulus_ns as f64;
        (1..=BOOTS).map(phase).collect()
    }

    /// The correlation of each value with that of the next seed.
    fn correlation_with_the_next(values: &[f64]) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
        products / squares
    }

    /// Within the second, a tick of 250 Hz and a cycle of 1 ms. Five standard deviations are allowed: those of a count of 1,000
    /// (150) and of a correlation of 10,000 values (0.05).
    #[test]
    fn the_delays_of_consecutive_seeds_are_uniform_and_unrelated() {
        for modulus_ns in [START_WITHIN_NS, 4_000_000, 1_000_000] {
            let phases = phases(modulus_ns);
            for tenth in 0..10 {
                let count = phases.iter().filter(|phase| (**phase * 10.0) as u64 == tenth).count();
                assert!(count.abs_diff(1_000) < 150, "{count} of tenth {tenth} of {modulus_ns} ns");
            }
            let correlation = correlation_with_the_next(&phases);
            assert!(correlation.abs() < 0.05, "{correlation} at {modulus_ns} ns");
        }
    }

    #[test]
    fn different_seeds_have_different_delays_and_seed_1_has_none() {
        // Of 10,000 draws of 1e9 ns, 0.05 pairs are expected to agree; the seed moves the loads of such a pair nevertheless.
        let delays: std::collections::BTreeSet<u64> = (1..=BOOTS).map(of_seed_ns).collect();
        assert!(delays.len() as u64 >= BOOTS - 1, "{} different delays", delays.len());
        assert_eq!(of_seed_ns(1), 0);
        assert!(delays.iter().all(|delay| *delay < START_WITHIN_NS));
    }
}
