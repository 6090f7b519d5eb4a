//! Work on many files at a time.

use std::num::NonZero;
use std::thread;

/// The results of `work` for all `items`, in their order. Each CPU works on a part of them.
pub(crate) fn map<I: Sync, R: Send>(items: &[I], work: impl Fn(&I) -> R + Sync) -> Vec<R> {
    let cpus = thread::available_parallelism().map_or(1, NonZero::get);
    let part = items.len().div_ceil(cpus).max(1);
    if items.len() < 2 || cpus == 1 {
        return items.iter().map(work).collect();
    }
    thread::scope(|scope| {
        let work = &work;
        let parts: Vec<_> = items
            .chunks(part)
            .map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<R>>()))
            .collect();
        // A panic of one part is one of the caller.
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_are_in_the_order_of_the_items() {
        for count in [0, 1, 2, 3, 100] {
            let items: Vec<u32> = (0..count).collect();
            let doubled: Vec<u32> = items.iter().map(|item| item * 2).collect();
            assert_eq!(super::map(&items, |item| item * 2), doubled);
        }
    }
}
