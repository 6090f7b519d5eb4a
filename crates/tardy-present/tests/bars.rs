//! Histograms of the terminal.

use tardy_present::bars::{lines, lines_within};
use tardy_record::Histogram;

#[test]
fn a_histogram_without_a_distribution_is_not_drawn() {
    let open = Histogram::from_bins(vec![(0, i64::MAX, 496).into()]).unwrap();
    assert_eq!(lines(&open, "wake-ups", 80), Vec::<String>::new());
}

#[test]
fn values_beyond_the_histogram_have_a_separate_line() {
    let bins = vec![(7_000, 8_000, 90).into(), (60_000, 61_000, 9).into(), (400_000, i64::MAX, 10).into()];
    let drawn = lines(&Histogram::from_bins(bins).unwrap(), "wake-ups", 80);
    let last = drawn.last().unwrap();
    assert!(last.trim_start().starts_with("≥ 400 │") && last.ends_with(" 10"), "{drawn:#?}");
    assert_eq!(drawn.iter().filter(|line| line.contains('█')).count(), 3, "{drawn:#?}");
    assert!(drawn.iter().any(|line| line.contains('⋮')), "the gap before it is visible: {drawn:#?}");
}

#[test]
fn a_line_is_not_finer_than_the_bins() {
    let bins = vec![(1_000, 2_000, 2000).into(), (2_000, 3_000, 7).into(), (7_000, 8_000, 1).into()];
    let drawn = lines(&Histogram::from_bins(bins).unwrap(), "wake-ups", 80);
    let rows: Vec<&str> = drawn.iter().filter(|line| line.contains('█')).map(|line| line.trim()).collect();
    for (row, label) in rows.iter().zip(["1.00–2.00 │", "2.00–3.00 │", "7.00–8.00 │"]) {
        assert!(row.starts_with(label), "{drawn:#?}");
    }
    let one = Histogram::from_bins(vec![(0, 1_000, 5).into()]).unwrap();
    let drawn = lines(&one, "wake-ups", 80);
    assert!(drawn.last().is_some_and(|line| line.trim().starts_with("0.00–1.00 │")), "{drawn:#?}");
}

#[test]
fn no_line_is_wider_than_the_drawing() {
    let bins = (0..40).map(|step| (1_000 * step, 1_000 * (step + 1), 10u64.pow(step as u32 / 5)).into());
    let histogram = Histogram::from_bins(bins.collect()).unwrap();
    for width in 40..120 {
        let drawn = lines(&histogram, "wake-ups", width);
        let widest = drawn.iter().map(|line| line.chars().count()).max();
        assert!(widest.is_some_and(|widest| widest <= width), "{width} columns: {drawn:#?}");
    }
}

#[test]
fn coarser_steps_fit_into_fewer_lines() {
    let bins = (0..60).map(|step| (1_000 * step, 1_000 * (step + 1), 7).into()).collect();
    let histogram = Histogram::from_bins(bins).unwrap();
    for height in 4..30 {
        let drawn = lines_within(&histogram, "wake-ups", 80, height);
        assert!((3..=height).contains(&drawn.len()), "{height} lines: {drawn:#?}");
    }
    assert_eq!(lines_within(&histogram, "wake-ups", 80, 2), Vec::<String>::new());
}
