//! The extremal index θ: the share of exceedances of a threshold that begin a cluster. Independent values have 1.

/// Ferro and Segers's estimate from the times between exceedances (Journal of the Royal Statistical Society B 65, 2003),
/// which needs no length of a cluster. `positions` are the indices of the exceedances, in order. `None` for fewer than
/// three.
pub fn intervals(positions: &[u64]) -> Option<f64> {
    let gaps: Vec<f64> = positions.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64).collect();
    if gaps.len() < 2 {
        return None;
    }
    let n = gaps.len() as f64;
    let longest = gaps.iter().fold(0.0f64, |longest, gap| longest.max(*gap));
    let estimate = if longest <= 2.0 {
        let (sum, squares) = (gaps.iter().sum::<f64>(), gaps.iter().map(|gap| gap * gap).sum::<f64>());
        2.0 * sum * sum / (n * squares)
    } else {
        let sum: f64 = gaps.iter().map(|gap| gap - 1.0).sum();
        let products: f64 = gaps.iter().map(|gap| (gap - 1.0) * (gap - 2.0)).sum();
        2.0 * sum * sum / (n * products)
    };
    Some(estimate.clamp(f64::MIN_POSITIVE, 1.0))
}

/// The number of clusters per exceedance, if a cluster ends when `gap` values in a row are not above the threshold. `None`
/// without exceedances.
pub fn runs(positions: &[u64], gap: u64) -> Option<f64> {
    let clusters = 1 + positions.windows(2).filter(|pair| pair[1].saturating_sub(pair[0]) > gap).count();
    (!positions.is_empty()).then(|| clusters as f64 / positions.len() as f64)
}

/// The estimate from counts per block (Smith and Weissman, Journal of the Royal Statistical Society B 56, 1994): of `blocks`
/// blocks of equal length, `occupied` have a value over the threshold, which `over` of all `values` exceed. It needs no order
/// within the blocks. `None` if every block or no block is occupied, or if the counts contradict each other.
pub fn blocks(occupied: u64, blocks: u64, over: u64, values: u64) -> Option<f64> {
    if occupied == 0 || occupied >= blocks || over < occupied || over >= values {
        return None;
    }
    let empty = libm::log1p(-(occupied as f64) / blocks as f64);
    let below = (values as f64 / blocks as f64) * libm::log1p(-(over as f64) / values as f64);
    Some((empty / below).clamp(f64::MIN_POSITIVE, 1.0))
}

#[cfg(test)]
mod tests {
    use super::super::test_data::{close, rain};
    use super::*;

    /// The reference table of research/statistics.md section 4; R's evd: `exi(rain, 30, r = 0)` and `exi(rain, 30, r = 1)`.
    #[test]
    fn rain_agrees_with_the_reference_values() {
        let wet: Vec<u64> =
            rain().iter().enumerate().filter(|(_, value)| **value > 30.0).map(|(i, _)| i as u64).collect();
        assert_eq!(wet.len(), 152);
        close(intervals(&wet).unwrap(), 0.941_939_602_6, 1e-9);
        close(runs(&wet, 1).unwrap(), 0.953_947_368_4, 1e-9);
    }

    #[test]
    fn clusters_of_ten_have_an_index_of_a_tenth() {
        let positions: Vec<u64> =
            (0..100).flat_map(|cluster| (0..10).map(move |i| cluster * 997 + i)).collect();
        assert!((intervals(&positions).unwrap() - 0.1).abs() < 0.11);
        assert_eq!(runs(&positions, 5), Some(0.1));
        assert_eq!(runs(&[], 5), None);
        assert_eq!(intervals(&[1, 2]), None);
    }

    #[test]
    fn counts_per_block_show_the_clusters_too() {
        // 1,000 values in 100 blocks; 20 exceedances at random times are in 18 blocks, 20 in twos in 10.
        close(blocks(18, 100, 20, 1000).unwrap(), 0.982_299, 1e-5);
        assert_eq!(blocks(20, 100, 20, 1000), Some(1.0));
        close(blocks(10, 100, 20, 1000).unwrap(), 0.521_517, 1e-5);
        for (occupied, over) in [(0, 0), (100, 300), (30, 20)] {
            assert_eq!(blocks(occupied, 100, over, 1000), None);
        }
    }
}
