//! Roots of functions of one variable.

/// The x between `low` and `high` where an increasing function changes its sign, as precise as a double is; the nearer end
/// if there is none.
///
/// The method is a secant step alternating with a bisection, so the time is bounded for every function.
pub(crate) fn between(mut low: f64, mut high: f64, mut function: impl FnMut(f64) -> f64) -> f64 {
    let (mut at_low, mut at_high) = (function(low), function(high));
    if at_low >= 0.0 {
        return low;
    }
    if at_high <= 0.0 {
        return high;
    }
    for step in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high || high - low <= 1e-14 * middle.abs() {
            break;
        }
        let secant = low - at_low * (high - low) / (at_high - at_low);
        let x = if step % 2 == 0 && secant > low && secant < high { secant } else { middle };
        let value = function(x);
        if value == 0.0 {
            return x;
        }
        if value < 0.0 { (low, at_low) = (x, value) } else { (high, at_high) = (x, value) }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_has_all_digits() {
        assert!((between(0.0, 2.0, |x| x * x - 2.0) - 2f64.sqrt()).abs() < 1e-14);
        assert!((between(0.0, 1000.0, |x| x.powi(9) - 1e-9) - 0.1).abs() < 1e-14);
    }

    #[test]
    fn without_a_change_of_sign_the_nearer_end_is_returned() {
        assert_eq!(between(1.0, 2.0, |x| x), 1.0);
        assert_eq!(between(1.0, 2.0, |x| x - 5.0), 2.0);
    }
}
