//! Names of runs.

use std::fs;

use crate::bench::Bench;

fn measure(bench: &Bench, arguments: &[&str]) {
    let run = ["run", "-q", "--fake", "1", "--loops", "2000", "--interval", "1ms"];
    bench.run(&[&run, arguments].concat()).exits(0);
}

#[test]
fn a_run_is_named_when_it_is_made_or_later_or_after_its_file() {
    let bench = Bench::new();
    measure(&bench, &["-o", "a.run.json", "--name", "before the move"]);
    measure(&bench, &["-o", "b.run.json"]);
    measure(&bench, &["-o", "c.run.json"]);
    assert_eq!(bench.json("a.run.json")["origin"]["name"], "before the move");
    assert!(bench.json("b.run.json")["origin"].get("name").is_none());
    let told = bench.run(&["name", "c.run.json", "with isolcpus"]).exits(0).err;
    assert!(told.contains("c.run.json: named 'with isolcpus'"), "{told}");
    let compared = bench.run(&["compare", "a.run.json", "b.run.json", "c.run.json"]).exits(0).out;
    assert!(compared.contains("Base: before the move. Candidates: b, with isolcpus. All: "), "{compared}");
    assert!(compared.contains("was the same in all runs: "), "{compared}");
    bench.run(&["report", "a.run.json", "b.run.json", "-o", "both.html"]).exits(0);
    let page = fs::read_to_string(bench.path("both.html")).unwrap();
    assert!(page.contains("<h2>before the move</h2>") && page.contains("<h2>b</h2>"), "{page}");
    bench.run(&["plot", "a.run.json", "b.run.json", "-o", "both.svg"]).exits(0);
    assert!(fs::read_to_string(bench.path("both.svg")).unwrap().contains("before the move"));
}

#[test]
fn a_name_changes_nothing_else_and_can_be_removed() {
    let bench = Bench::new();
    measure(&bench, &["-o", "a.run.json"]);
    let before = fs::read(bench.path("a.run.json")).unwrap();
    bench.run(&["name", "a.run.json", "one"]).exits(0);
    let named = String::from_utf8(fs::read(bench.path("a.run.json")).unwrap()).unwrap();
    let of_later_version = named.replacen("{\"schema_version\"", "{\"later\":1.10,\"schema_version\"", 1);
    fs::write(bench.path("later.run.json"), &of_later_version).unwrap();
    bench.run(&["name", "later.run.json", "three"]).exits(0);
    let expected = of_later_version.replacen("\"name\":\"one\"", "\"name\":\"three\"", 1);
    assert!(fs::read_to_string(bench.path("later.run.json")).unwrap() == expected, "unknown fields stay");
    let renamed = bench.run(&["name", "a.run.json", "two"]).exits(0).err;
    assert!(renamed.contains("named 'two', formerly 'one'"), "{renamed}");
    bench.run(&["show", "a.run.json"]).exits(0);
    bench.run(&["name", "a.run.json", ""]).exits(0);
    assert_eq!(fs::read(bench.path("a.run.json")).unwrap(), before);
}

#[test]
fn a_file_of_a_link_or_of_several_names_is_not_changed() {
    let bench = Bench::new();
    measure(&bench, &["-o", "a.run.json"]);
    std::os::unix::fs::symlink("a.run.json", bench.path("link.run.json")).unwrap();
    let refused = bench.run(&["name", "link.run.json", "x"]).exits(1).err;
    assert!(refused.contains("symbolic link") && refused.contains("cannot be changed"), "{refused}");
    assert!(refused.contains("name the file to which it points") && !refused.contains("owner"), "{refused}");
    let refused = bench.run(&["name", ".", "x"]).exits(1).err;
    assert!(refused.contains("it is a directory; name a run file in it"), "{refused}");
    fs::hard_link(bench.path("a.run.json"), bench.path("b.run.json")).unwrap();
    bench.run(&["name", "a.run.json", "x"]).exits(1);
    let long = "x".repeat(61);
    let refused = bench.run(&["name", "a.run.json", &long]).exits(2).err;
    assert!(refused.contains("at most 60 characters"), "{refused}");
    bench.run(&["name", "a.run.json", "two\nlines"]).exits(2);
    bench.run(&["name", "missing.run.json", "x"]).exits(1);
}

#[test]
fn a_redacted_run_has_neither_its_name_nor_that_of_its_file() {
    let bench = Bench::new();
    measure(&bench, &["-o", "customer.run.json", "--name", "customer's board"]);
    measure(&bench, &["-o", "secret.run.json"]);
    let compared = bench.run(&["compare", "--redact", "customer.run.json", "secret.run.json"]).exits(0).out;
    assert!(!compared.contains("customer") && !compared.contains("secret"), "{compared}");
}
