//! The median of plain numbers.

/// The middle value, or the mean of the two in the middle; `None` of no values.
pub fn of(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some(f64::midpoint(sorted[last / 2], sorted[last.div_ceil(2)]))
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn it_is_the_middle_or_the_mean_of_the_two_in_the_middle() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[5.0, 1.0, 9.0]), Some(5.0));
        assert_eq!(of(&[5.0, 1.0, 9.0, 8.0]), Some(6.5));
    }
}
