//! KCIDB's report format, version 5.3 (kcidb-io, schema v05_03): a test for each judgement. A test belongs to a build, which the
//! sender has to submit under the same identity.

use serde_json::{Map, Value, json};

use super::{Judged, identifier};
use crate::outcome::Outcome;

/// The sender of the report, and the prefix of all identities.
const ORIGIN: &str = "tardy";

/// A report with a test for each judgement.
pub(super) fn text(judged: &[Judged]) -> String {
    let tests: Vec<Value> = judged.iter().map(test).collect();
    let report = json!({ "version": { "major": 5, "minor": 3 }, "tests": tests });
    serde_json::to_string_pretty(&report).expect("values with text keys are JSON") + "\n"
}

fn test(one: &Judged) -> Value {
    let requirement = one.demand();
    let kernel = if one.kernel.is_empty() { "unknown" } else { &one.kernel };
    let mut test = Map::new();
    test.insert(
        "id".to_owned(),
        json!(format!("{ORIGIN}:{}:{}", identifier(&one.id), identifier(&requirement))),
    );
    test.insert("build_id".to_owned(), json!(format!("{ORIGIN}:{}", identifier(kernel))));
    test.insert("origin".to_owned(), json!(ORIGIN));
    test.insert("path".to_owned(), json!(format!("tardy.{}", identifier(&requirement).replace('.', "-"))));
    test.insert("comment".to_owned(), json!(one.because()));
    test.insert("status".to_owned(), json!(status(one.outcome())));
    if !one.started_at.is_empty() {
        test.insert("start_time".to_owned(), json!(one.started_at));
    }
    if let Some(us) = one.value_us() {
        test.insert("number".to_owned(), json!({ "value": us * 1e-6, "unit": "s", "prefix": "metric" }));
    }
    if let Some(counted_ns) = one.counted_ns() {
        test.insert("duration".to_owned(), json!(counted_ns as f64 / 1e9));
    }
    if !one.evidence().is_null() {
        test.insert("misc".to_owned(), json!({ "evidence": one.evidence() }));
    }
    Value::Object(test)
}

/// KCIDB's word: `MISS` is a test that ran without a result, `ERROR` one that did not work.
fn status(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "PASS",
        Outcome::Failed => "FAIL",
        Outcome::Inconclusive => "DONE",
        Outcome::Invalid => "ERROR",
    }
}
