//! The order of the trials in a round.

/// The order of round `round` (from 1): each of `0..count` once. The same seed gives the same order.
pub fn order_of_round(seed: u64, round: u32, count: usize) -> Vec<usize> {
    let mut state = seed ^ u64::from(round).wrapping_mul(0xd134_2543_de82_ef95);
    let mut order: Vec<usize> = (0..count).collect();
    // Fisher-Yates shuffle: every order is equally likely.
    for last in (1..count).rev() {
        order.swap(last, (next(&mut state) % (last as u64 + 1)) as usize);
    }
    order
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_index_occurs_once_per_round_and_at_every_position_equally_often() {
        let mut at = [[0u32; 5]; 5];
        for round in 1..=1000 {
            let order = order_of_round(1, round, 5);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
            order.iter().enumerate().for_each(|(place, what)| at[*what][place] += 1);
        }
        // 200 expected, with a standard deviation of 13: the seed is fixed, so the test is deterministic.
        assert!(at.iter().flatten().all(|times| (140..260).contains(times)), "{at:?}");
        assert_ne!(order_of_round(1, 1, 10), order_of_round(2, 1, 10));
        assert_eq!(order_of_round(7, 3, 10), order_of_round(7, 3, 10));
        assert!(order_of_round(1, 1, 0).is_empty());
    }
}
