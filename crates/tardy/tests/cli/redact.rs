//! `--redact` at every way out of a run. What it takes is tested in tardy-redact.

use tardy_recipe::RecipeText;

use crate::bench::{Bench, Printed};

const FAKE: [&str; 9] = ["run", "--fake", "3", "-q", "--duration", "100ms", "--load", "none", "-o"];
const SECRET: &str = "plant-seven";

/// A measured run whose recipe, peer and phase name a project.
fn measured(bench: &Bench, extra: &[&str]) -> Printed {
    let recipe = format!(
        "about = \"{SECRET}\"\npublished = [\"{SECRET}\"]\n[run]\npeer = \"{SECRET}.example\"\n[[phase]]\nname = \"{SECRET}\"\n"
    );
    std::fs::write(bench.path(&format!("{SECRET}.toml")), recipe).unwrap();
    let file = format!("./{SECRET}.toml");
    let printed = bench.run(&[&FAKE[..], &["a.run.json", &file], extra].concat());
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    printed
}

fn text(bench: &Bench, name: &str) -> String {
    std::fs::read_to_string(bench.path(name)).unwrap()
}

#[test]
fn a_redacted_run_names_neither_the_machine_nor_the_project() {
    let bench = Bench::new();
    let printed = measured(&bench, &["--redact", "--report", "a.html"]);
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    for name in ["a.run.json", "a.html"] {
        let text = text(&bench, name);
        assert!(!text.contains(SECRET) && !text.contains(boot_id.trim()), "{name}");
    }
    assert!(!printed.out.contains(SECRET), "{}", printed.out);
    for field in ["origin.boot_id: 1", "plan.peer: 1", "plan.phases.label: 1"] {
        assert!(printed.err.contains(field), "{}", printed.err);
    }
    let run = bench.json("a.run.json");
    assert_eq!(run["origin"]["command"], serde_json::json!(["tardy", "run"]));
    assert_eq!(run["phases"][0]["label"], "phase 1");
    assert!(run["redacted"].as_array().unwrap().contains(&"origin.host".into()));
}

#[test]
fn every_way_out_redacts() {
    let bench = Bench::new();
    measured(&bench, &[]);
    assert!(text(&bench, "a.run.json").contains(SECRET));
    for arguments in [
        &["show", "a.run.json"][..],
        &["show", "a.run.json", "--json"],
        &["compare", "a.run.json", "a.run.json", "--anyway"],
        &["export", "a.run.json", "--to", "json"],
        &["export", "a.run.json", "--to", "openmetrics"],
        &["report", "a.run.json", "-o", "out", "--force"],
        &["plot", "a.run.json", "-o", "out", "--force"],
    ] {
        let printed = bench.run(&[arguments, &["--redact"]].concat());
        assert_eq!(printed.code, Some(0), "{arguments:?}: {}", printed.err);
        let written = std::fs::read_to_string(bench.path("out")).unwrap_or_default();
        assert!(!printed.out.contains(SECRET) && !written.contains(SECRET), "{arguments:?}");
        assert!(printed.err.contains("origin.boot_id: 1"), "{arguments:?}: {}", printed.err);
    }
}

#[test]
fn an_import_is_redacted_and_redacting_twice_takes_nothing() {
    let bench = Bench::new();
    std::fs::write(bench.path(&format!("{SECRET}.txt")), "000000 10\n000001 5\n").unwrap();
    let file = format!("{SECRET}.txt");
    let printed =
        bench.run(&["import", &file, "--as", "columns", "--unit", "us", "--redact", "-o", "b.run.json"]);
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    assert!(!text(&bench, "b.run.json").contains(SECRET));
    let again = bench.run(&["show", "b.run.json", "--redact"]);
    assert!(again.err.contains("nothing is left to remove"), "{}", again.err);
}

#[test]
fn the_version_in_a_capture_keeps_no_words_of_its_author() {
    let bench = Bench::new();
    let capture = format!(
        "$version {SECRET} recorder 1.2 $end\n$timescale 1 us $end\n$scope module top $end\n$var wire 1 ! in $end\n\
         $var wire 1 \" out $end\n$upscope $end\n$enddefinitions $end\n#0\n0!\n0\"\n#10\n1!\n#15\n1\"\n#20\n0!\n0\"\n\
         #30\n1!\n#36\n1\"\n#40\n0!\n0\"\n"
    );
    std::fs::write(bench.path("a.vcd"), capture).unwrap();
    let import = |redact: &[&str]| {
        let words = ["import", "a.vcd", "--in", "in", "--out", "out", "-o", "c.run.json", "--force"];
        let printed = bench.run(&[&words[..], redact].concat());
        assert!(bench.path("c.run.json").exists(), "{}", printed.err);
        text(&bench, "c.run.json")
    };
    assert!(import(&[]).contains(SECRET));
    let redacted = import(&["--redact"]);
    assert!(!redacted.contains(SECRET) && redacted.contains("redacted 1.2"));
}

#[test]
fn the_ids_of_published_results_stay() {
    for result in tardy_analyse::published::built_in() {
        assert!(tardy_redact::is_known_result(&result.id), "{}", result.id);
    }
}

#[test]
fn the_names_of_built_in_recipes_stay() {
    let names = RecipeText::built_in().map(|recipe| recipe.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(names, tardy_redact::RECIPES);
}
