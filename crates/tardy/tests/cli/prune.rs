//! `tardy archive prune`: what a rule deletes, and what the audit log has of it.

use std::fs;

use serde_json::Value;
use serde_json::json;

use crate::bench::Bench;
use crate::server::run_file;

#[test]
fn runs_are_pruned_by_a_rule_and_in_the_audit_log() {
    let bench = Bench::new();
    fs::create_dir(bench.path("runs")).unwrap();
    for (number, day) in ["2020-01-01", "2020-01-02", "2020-01-03"].iter().enumerate() {
        let mut run: Value = serde_json::from_slice(&run_file(&number.to_string())).unwrap();
        run["origin"]["started_at"] = json!(format!("{day}T00:00:00Z"));
        fs::write(bench.path(&format!("runs/{number}.run.json")), serde_json::to_vec(&run).unwrap()).unwrap();
    }
    bench.run(&["archive", "add", "A", "runs"]).exits(0);
    assert_eq!(bench.run(&["archive", "prune", "A", "--yes"]).code, Some(2), "a rule is needed");
    let rule = ["archive", "prune", "A", "--older-than", "30", "--keep-newest", "2"];
    let listed = bench.run(&rule).exits(0);
    assert!(listed.out.contains("2020-01-01") && !listed.out.contains("2020-01-02"), "{}", listed.out);
    assert!(listed.err.contains("1 run would be deleted"), "{}", listed.err);
    bench.run(&[&rule[..], &["--yes"]].concat()).exits(0);
    assert_eq!(bench.run(&["list", "A", "--json"]).exits(0).out.matches("\"started_at\"").count(), 2);
    let audit = bench.run(&["archive", "audit", "A"]).exits(0).out;
    assert!(audit.contains("deleted") && audit.contains("prune --older-than 30 --keep-newest 2"), "{audit}");
    bench.run(&["archive", "verify", "A"]).exits(0);
}
