//! A recipe of the user is a program: tardy shows what it executes.

use crate::bench::Bench;

const RECIPE: &str = r#"
about = "Two commands."
[run]
duration = "100ms"
load = ["cmd:echo one; touch shell", "stress-ng:--cpu 1 ; touch words"]
"#;

#[test]
fn the_commands_of_a_recipe_file_are_shown_before_they_run() {
    let bench = Bench::new();
    std::fs::write(bench.path("own.toml"), RECIPE).unwrap();
    let printed = bench.run(&["run", "./own.toml", "--dry-run"]);
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    assert!(printed.err.contains("executes: /bin/sh -c 'echo one; touch shell'\n"), "{}", printed.err);
    let words = "executes: stress-ng --cpu 1 ';' touch words --metrics --timeout 2s\n";
    assert!(printed.err.contains(words), "{}", printed.err);
    assert!(!bench.path("shell").exists() && !bench.path("words").exists());
    let built_in = bench.run(&["run", "quick", "--dry-run"]);
    assert!(!built_in.err.contains("executes:"), "{}", built_in.err);
}

#[test]
fn a_long_command_is_shown_whole_in_a_dry_run() {
    let bench = Bench::new();
    let long = format!("cmd:true {}", "x".repeat(1000));
    std::fs::write(
        bench.path("own.toml"),
        format!("about = \"One.\"\n[run]\nduration = \"1s\"\nload = [{long:?}]\n"),
    )
    .unwrap();
    let whole = bench.run(&["run", "./own.toml", "--dry-run"]);
    assert!(whole.err.contains(&"x".repeat(1000)), "{}", whole.err);
    let measured = bench.run(&["run", "./own.toml", "--fake", "1", "-q", "-o", "a.run.json"]);
    assert!(measured.err.contains("executes: /bin/sh -c 'true xxx"), "{}", measured.err);
    assert!(!measured.err.contains(&"x".repeat(400)), "{}", measured.err);
}
