//! `tardy lab history`, `bisect` and `sweep` on two boots, which they share.

use std::path::Path;

use tardy_record::Run;

use crate::guests;

const KERNEL: &str = "debian:6.12-rt";
/// Reading the clock takes port accesses instead of an instruction, so each wake-up is recorded later.
const WORD: &str = "clocksource=acpi_pm";

fn lab(guests: &Path, arguments: &[&str], output: &Path) -> String {
    let mut lab = guests::lab(guests, "x86_64", arguments[0]);
    lab.args(["lab-quick", "--loops", "100"]).args(&arguments[1..]).arg("-o").arg(output);
    guests::text_of(&guests::expect_alone(&lab, 0))
}

/// The median latency of the idle phase, as `--measure idle:p50` has it.
fn median_ns(run: &Run) -> f64 {
    let measure: tardy_search::measure::Measure = "idle:p50".parse().unwrap();
    measure.of(run).unwrap()
}

#[test]
fn a_history_grows_by_a_kernel_and_searches_use_its_boots() {
    let Some(guests) = guests::directory() else { return };
    let results = tempfile::tempdir().unwrap();
    let (site, runs) = (results.path().to_owned(), results.path().join("runs"));
    let changed = format!("{KERNEL},append={WORD}");
    let first = lab(&guests, &["history", "--seeds", "1", "-k", KERNEL], &site);
    assert!(first.contains("1 of 1 seeds run"), "{first}");
    let second = lab(&guests, &["history", "--seeds", "1", "-k", KERNEL, "-k", &changed], &site);
    assert!(second.contains("0 of 1 seeds run") && second.contains("1 of 1 seeds run"), "{second}");
    assert!(second.contains("no step can be claimed"), "{second}");

    let mut files: Vec<_> = std::fs::read_dir(&runs).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort_by_key(|path| path.to_string_lossy().contains("acpi_pm"));
    let [base, slow] = &files[..] else { panic!("{files:?}") };
    assert!(base.to_string_lossy().ends_with(".run.json.gz"), "{base:?}");
    let [base, slow] = [base, slow].map(|path| median_ns(&guests::run(path)));
    assert!(slow > base, "{slow} {base}");
    for file in ["index.html", "history.json", "history.csv"] {
        assert!(site.join(file).is_file(), "{file}");
    }
    let index = std::fs::read_to_string(site.join("index.html")).unwrap();
    assert!(index.contains("command line differ") && index.contains(WORD));
    let pages: Vec<_> = std::fs::read_dir(site.join("kernels")).unwrap().collect();
    assert_eq!(pages.len(), 2);
    let csv = std::fs::read_to_string(site.join("history.csv")).unwrap();
    assert!(csv.lines().any(|line| line.ends_with(&format!(",idle,p50,1,{slow}"))), "{csv}");

    let condition = format!("idle:p50>{}ns", f64::midpoint(base, slow).round());
    let searched =
        lab(&guests, &["bisect", "--good", KERNEL, "--bad", &changed, "--measure", &condition], &runs);
    assert!(searched.contains("2 boots, 2 of them from an earlier search"), "{searched}");
    assert!(searched.contains(&format!("bad because of: {WORD}")), "{searched}");
    let swept = lab(&guests, &["sweep", "-k", KERNEL, "--option", WORD, "--measure", "idle:p50"], &runs);
    assert!(swept.contains("2 boots, 2 of them from an earlier sweep"), "{swept}");
    assert!(swept.find("as it is").unwrap() < swept.find(WORD).unwrap(), "{swept}");

    let wrong = format!("idle:p50>{}ns", slow + 1000.0);
    let mut bisect = guests::lab(&guests, "x86_64", "bisect");
    bisect.args(["lab-quick", "--loops", "100", "--good", KERNEL, "--bad", &changed, "--measure", &wrong]);
    bisect.arg("-o").arg(&runs);
    let refused = guests::text_of(&guests::expect_alone(&bisect, 1));
    assert!(refused.contains("both ends are good") && refused.contains("Choose another value"), "{refused}");
}
