//! Arithmetic on every CPU: products of small matrices that fit into the first-level cache.

use std::hint::black_box;

use tardy_sys::counters::Counter;

use super::forked_tasks;
use super::random::Random;
use super::worker::{Ended, Worker};

/// Three matrices of this size take 24 KiB, which fits into any first-level cache.
const SIDE: usize = 32;

type Matrix = [[f64; SIDE]; SIDE];

pub(super) fn run(worker: &Worker) -> Ended {
    let seed = worker.seed;
    forked_tasks::run(worker, forked_tasks::one_per_cpu(worker), |index| {
        Ok(multiply(seed.wrapping_add(index as u64)))
    })
}

/// One step is one product; its result is a factor of the next.
fn multiply(seed: u64) -> impl FnMut(&Counter) -> Result<(), String> {
    let mut random = Random::new(seed);
    let mut matrix = || {
        let mut matrix: Box<Matrix> = Box::new([[0.0; SIDE]; SIDE]);
        // Row sums below 1, so that no product overflows; from 1/2 up, so that none becomes denormal, which is
        // slow.
        for number in matrix.iter_mut().flatten() {
            *number = (0.5 + random.below(1 << 20) as f64 / f64::from(1 << 21)) / SIDE as f64;
        }
        matrix
    };
    let (first, factor, mut product) = (matrix(), matrix(), Box::new([[0.0; SIDE]; SIDE]));
    let mut last = first.clone();
    let mut left = 0;
    move |multiplied| {
        // Each product is smaller than the previous one; restart before they become too small.
        if left == 0 {
            (*last, left) = (*first, 100);
        }
        left -= 1;
        for (row, out) in last.iter().zip(product.iter_mut()) {
            for (column, out) in out.iter_mut().enumerate() {
                *out = row.iter().zip(factor.iter()).map(|(a, b)| a * b[column]).sum();
            }
        }
        std::mem::swap(&mut last, &mut product);
        black_box(&last);
        multiplied.add(1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_product_is_counted() {
        let (counter, mut step) = (Counter::default(), multiply(1));
        for _ in 0..250 {
            step(&counter).unwrap();
        }
        assert_eq!(counter.get(), 250);
    }
}
