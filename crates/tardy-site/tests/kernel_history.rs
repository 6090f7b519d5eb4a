//! The history of a kernel as text and as a site.

use tardy_compare::difference::{Difference, Differences};
use tardy_search::kernel_history::{Boot, Change, Kernel, KernelHistory, Line, MovedBin, Step};
use tardy_site::kernel_history::{About, site, text};

fn kernel(version: &str) -> Kernel {
    let boot = |seed: u64| Boot {
        seed,
        identity: format!("{seed:064x}"),
        file: format!("runs/{version}-seed-{seed}.run.json"),
    };
    Kernel {
        spec: format!("debian:{}-rt={version}", &version[..4]),
        release: format!("{}+deb13-rt-amd64", version.split('-').next().unwrap()),
        image_sha256: "ab".repeat(32),
        boots: (1..=3).map(boot).collect(),
        problems: Vec::new(),
    }
}

/// Three kernels, the last of which is slower under load, and one that does not boot.
pub(crate) fn history() -> KernelHistory {
    let line = |phase: &str, number: &str, values: [f64; 3]| Line {
        phase: phase.to_owned(),
        number: number.to_owned(),
        values: [[values[0]; 3].map(|ns| ns * 1.02), [values[1]; 3], [values[2]; 3]]
            .map(|seeds| seeds.iter().zip([0.97, 1.0, 1.05]).map(|(ns, factor)| ns * factor).collect())
            .into_iter()
            .chain([Vec::new()])
            .collect(),
    };
    let mut kernels: Vec<Kernel> =
        ["6.12.118-1", "6.16.12-1", "6.18.15-1<b>", "6.19.14-1"].map(kernel).into();
    kernels[3].boots.clear();
    kernels[3].problems.push("the guest's kernel panicked.".to_owned());
    let moved = MovedBin { lower_ns: 19_456, upper_ns: 20_480, before: 0.012, after: 0.31 };
    let option = |name: &str, base: Option<&str>, candidate: Option<&str>| Difference {
        name: name.to_owned(),
        base: base.map(str::to_owned),
        candidate: candidate.map(str::to_owned),
    };
    let differences = Differences {
        config: Some(vec![option("SLAB_BUCKETS", None, Some("y")), option("HZ", Some("250"), Some("1000"))]),
        ..Differences::default()
    };
    let change = Change { line: 1, from: 14_000.0, to: 21_000.0, p: 2e-4, moved: vec![moved] };
    KernelHistory {
        recipe: "lab-quick".to_owned(),
        kernels,
        lines: vec![
            line("idle", "p50", [8_000.0, 8_100.0, 8_060.0]),
            line("loaded", "p99", [13_800.0, 14_000.0, 21_000.0]),
        ],
        steps: vec![
            Step { before: 0, after: 1, changes: Vec::new(), differences: differences.clone() },
            Step { before: 1, after: 2, changes: vec![change], differences },
        ],
        tests: 4,
        too_few: None,
    }
}

pub(crate) fn about() -> About {
    About {
        command: "tardy lab history lab-quick --kernel 'debian:6.12..6.19-rt' --seeds 3 -o DIR".to_owned(),
        again: "tardy lab run lab-quick".to_owned(),
        instruction_ns: Some(2),
        made_by: "1.0".to_owned(),
    }
}

#[test]
fn the_terminal_shows_each_version_and_the_step() {
    insta::assert_snapshot!(text(&history(), 100));
}

#[test]
fn the_site_has_a_page_for_each_kernel_and_its_data() {
    let files = site(&history(), &about());
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "index.html",
            "kernels/debian-6.12-rt=6.12.118-1.html",
            "kernels/debian-6.16-rt=6.16.12-1.html",
            "kernels/debian-6.18-rt=6.18.15-1-b-.html",
            "kernels/debian-6.19-rt=6.19.14-1.html",
            "history.json",
            "history.csv"
        ]
    );
    let content = |path: &str| &files.iter().find(|file| file.path == path).unwrap().content;
    let index = content("index.html");
    for shown in [
        "6.16.12-rt to 6.18.15-rt",
        "p99 of loaded: 14",
        "% higher",
        "2 options of the configuration differ",
        "SLAB_BUCKETS",
        "the guest&#x27;s kernel panicked.",
        "tardy lab explain runs&#x2f;6.16.12-1-seed-1.run.json",
        "8.06",
        "4030",
    ] {
        assert!(index.contains(shown), "{shown}: {index}");
    }
    assert_eq!(index.matches("class=\"limit\"").count(), 2, "the step is in both widths of one plot");
    assert!(!index.contains("<b>"), "a version is not markup");
    // Every link within the site leads to a file of it, or to a run file.
    for file in files.iter().filter(|file| file.path.ends_with(".html")) {
        for address in file.content.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            let address = address.replace("&#x2f;", "/");
            let target = if file.path.contains('/') { address.replacen("../", "", 1) } else { address };
            let is_known = paths.contains(&target.as_str())
                || target.starts_with("runs/")
                || target.starts_with("data:");
            assert!(is_known, "{}: {target}", file.path);
        }
    }
    let page = content("kernels/debian-6.18-rt=6.18.15-1-b-.html");
    assert!(page.contains("--kernel &#x27;debian:6.18-rt=6.18.15-1&lt;b&gt;&#x27; --seed 1"), "{page}");
    let data: serde_json::Value = serde_json::from_str(content("history.json")).unwrap();
    assert_eq!(data["steps"][1]["changes"][0]["to"], 21_000.0);
}

/// Writes the site to target/gallery/history, for inspection.
#[test]
#[ignore = "writes target/gallery, for inspection"]
fn gallery() {
    let target = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/gallery/history");
    for file in site(&history(), &about()) {
        let path = target.join(&file.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, file.content).unwrap();
    }
}
