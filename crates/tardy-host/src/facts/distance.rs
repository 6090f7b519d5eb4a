//! Typing errors: the distance between two words.

/// Whether `a` becomes `b` by changing, removing, inserting or swapping one letter.
pub(super) fn is_one_slip(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let same = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let (rest_a, rest_b) = (&a[same..], &b[same..]);
    match (rest_a, rest_b) {
        ([], []) => false,
        ([_, after_a @ ..], [_, after_b @ ..]) if after_a == after_b => true,
        ([_, after_a @ ..], _) if after_a == rest_b => true,
        (_, [_, after_b @ ..]) if rest_a == after_b => true,
        ([w, x, after_a @ ..], [y, z, after_b @ ..]) => (w, x) == (z, y) && after_a == after_b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_one_slip;

    #[test]
    fn one_slip_is_one_slip() {
        for (typed, meant) in [
            ("dwg_otg", "dwc_otg"),
            ("isolcpu", "isolcpus"),
            ("isolcppus", "isolcpus"),
            ("nohz_fulll", "nohz_full"),
            ("thraedirqs", "threadirqs"),
        ] {
            assert!(is_one_slip(typed, meant), "{typed}");
        }
        for (typed, meant) in [("same", "same"), ("abc", "xyz"), ("", "ab"), ("dwx_otx", "dwc_otg")] {
            assert!(!is_one_slip(typed, meant), "{typed}");
        }
    }
}
