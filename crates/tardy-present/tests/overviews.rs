//! The overview of many runs, in terminals of different widths.

use tardy_compare::overview::{self, LeftOut, Overview, SortKey};
use tardy_present::overview::{remarks, text};
use tardy_record::Run;

use crate::recorded::run;

/// An overview of two runs whose loads and kernels differ, with names too long for a terminal.
fn two_runs() -> Overview {
    let named = |file: &str, name: &str| {
        let mut run: Run = run(file);
        run.origin.name = Some(name.to_owned());
        overview::row(&run, file)
    };
    let rows = vec![
        named("standard", "board 7 in the cabinet, with the kernel of the distribution"),
        named("rt", "board 7 in the cabinet, with the kernel that was built for it"),
    ];
    overview::of(rows, LeftOut::default(), SortKey::default(), false)
}

#[test]
fn words_that_do_not_fit_next_to_the_numbers_are_below_them() {
    let overview = two_runs();
    for width in [60, 70, 80] {
        let shown = text(&overview, width);
        assert!(shown.lines().all(|line| line.chars().count() <= width), "{width} columns:\n{shown}");
        for run in &overview.runs {
            let [head, tail] = [&run.name[..10], &run.name[run.name.len() - 10..]];
            let line = shown.lines().position(|line| line.contains(head) && line.contains(tail));
            let line = line.unwrap_or_else(|| panic!("no line of {}:\n{shown}", run.name));
            let below = shown.lines().nth(line + 1).unwrap();
            let kernel = run.kernel.as_deref().unwrap();
            assert!(below.starts_with("    ") && below.contains(&format!("kernel: {kernel}")), "{shown}");
        }
    }
    let wide = text(&overview, 200);
    assert!(!wide.contains("kernel: ") && wide.contains("   kernel\n"), "{wide}");
}

#[test]
fn files_that_are_not_shown_are_counted_and_the_first_ones_named() {
    let other_files = (1..=7).map(|number| format!("notes-{number}.txt")).collect();
    let left_out = LeftOut { other_files, ..LeftOut::default() };
    let remarks = remarks(&left_out);
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    assert!(
        remarks[0].starts_with("7 other files are not run files: notes-1.txt, notes-2.txt"),
        "{remarks:?}"
    );
    assert!(remarks[0].contains("notes-5.txt, and 2 more;"), "{remarks:?}");
}
