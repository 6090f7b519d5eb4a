//! README's numbers of the lab, which `make lab-numbers` writes, compared with a run.

use tardy_record::Run;

use crate::runs::worst_ns;

const README: &str = include_str!("../../../../README.md");
/// How far a number may be from README's if the identity is another, as a factor: the order of magnitude.
const FACTOR: f64 = 10.0;
/// The same for the standard kernel under load: of ten seeds the highest maximum is eleven times the least (docs/lab.md), and two
/// identities differ as two seeds do. PREEMPT_RT's are within a factor of two.
const FACTOR_OF_STANDARD_UNDER_LOAD: f64 = 30.0;

/// A row of README's table: `| debian:6.12 (6.12.117+deb12-amd64) | loaded | 8000 | 442.9 | 7ffc57783991 |`.
struct Row {
    spec: String,
    release: String,
    phase: String,
    worst_us: f64,
    identity: String,
}

fn row(line: &str) -> Option<Row> {
    let cells: Vec<&str> = line.strip_prefix("| debian:")?.split('|').map(str::trim).collect();
    let [kernel, phase, _, worst_us, identity, _] = cells[..] else { return None };
    let (spec, release) = kernel.split_once(" (")?;
    Some(Row {
        spec: format!("debian:{spec}"),
        release: release.trim_end_matches(')').to_owned(),
        phase: phase.to_owned(),
        worst_us: worst_us.parse().ok()?,
        identity: identity.to_owned(),
    })
}

/// Asserts that `run` has README's numbers: all of them if the identity is the same, else their order of magnitude, and prints
/// what differs.
pub(crate) fn check(run: &Run) {
    let lab = run.lab.as_ref().unwrap();
    let rows: Vec<Row> = README.lines().filter_map(row).filter(|row| row.spec == lab.kernel.spec).collect();
    assert_eq!(rows.len(), 2, "README has both phases of {}", lab.kernel.spec);
    for row in rows {
        let worst_us = worst_ns(run, &row.phase) as f64 / 1000.0;
        if lab.identity.starts_with(&row.identity) {
            assert_eq!(
                format!("{worst_us:.1}"),
                format!("{:.1}", row.worst_us),
                "{}, {}",
                row.spec,
                row.phase
            );
            continue;
        }
        let differs = if row.release != lab.kernel.release {
            format!("the kernel: {}, in README {}", lab.kernel.release, row.release)
        } else if !README.contains(&format!("QEMU {}", lab.emulator)) {
            format!("QEMU: {}", lab.emulator)
        } else {
            "the guest's program, which tests build with another profile, or the recipe".to_owned()
        };
        println!(
            "{}, {}: {worst_us:.1} us, in README {:.1}; another is {differs}",
            row.spec, row.phase, row.worst_us
        );
        let factor = (worst_us / row.worst_us).max(row.worst_us / worst_us);
        let is_standard_under_load = row.phase == "loaded" && !row.spec.ends_with("-rt");
        let most = if is_standard_under_load { FACTOR_OF_STANDARD_UNDER_LOAD } else { FACTOR };
        assert!(
            factor < most,
            "{}, {}: {worst_us:.1} us, in README {:.1}",
            row.spec,
            row.phase,
            row.worst_us
        );
    }
}
