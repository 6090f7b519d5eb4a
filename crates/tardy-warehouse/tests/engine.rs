//! Both stores answer alike. ClickHouse's engine and an S3 service run next to this test: `make warehouse-test` starts them, and names
//! the archive's file in TARDY_WAREHOUSE.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tardy_archive::{Archive, NewFile, Query, Store};
use tardy_record::Run;
use tardy_record::facts::{Fact, Preemption};
use tardy_record::file;
use tardy_warehouse::{Warehouse, export};

/// Random searches, each of both stores.
const SEARCHES: u32 = 300;
/// Random runs, kept in several batches.
const RUNS: usize = 150;

fn place() -> PathBuf {
    let place = std::env::var_os("TARDY_WAREHOUSE");
    place.expect("TARDY_WAREHOUSE is not set; run 'make warehouse-test'").into()
}

fn some<T: Clone + std::fmt::Debug + 'static>(values: &[T]) -> impl Strategy<Value = Option<T>> + use<T> {
    proptest::option::of(select(values.to_vec()))
}

/// Runs that differ in all that is searched, with texts that SQL could mistake.
fn runs() -> impl Strategy<Value = Run> {
    let examples: Vec<Run> = [
        &include_bytes!("../../../examples/causes.run.json")[..],
        include_bytes!("../../tardy-present/tests/runs/lab-standard.run.json"),
        include_bytes!("../../tardy-present/tests/runs/lab-rt.run.json"),
    ]
    .map(|text| file::from_text(text).unwrap())
    .into();
    let config = proptest::option::of(proptest::collection::btree_map(
        select(vec!["HZ".to_owned(), "PREEMPT_RT".to_owned()]),
        select(vec!["1000".to_owned(), "y".to_owned()]),
        0..3,
    ));
    let days =
        ["", "2024-02-29T01:02:03Z", "2025-02-31T00:00:00Z", "2026-11-25T23:59:59Z", "2026-11-26T00:00:00Z"];
    let hosts = ["rack3", "Rack33", "", "Übertragung", "it's \\ 50% of\n_"];
    let releases = ["6.12.118-rt-amd64", "6.1.0", "5.10.209", "7.3-rc1", "?"];
    let models = [Preemption::Rt, Preemption::Full, Preemption::None];
    let facts = (select(hosts.to_vec()), some(&releases), some(&models), config);
    (select(examples), select(days.to_vec()), facts, some(&[100_000_u64, 10_000_000]), any::<bool>())
        .prop_map(|(mut run, started_at, (host, release, preemption, config), limit_ns, valid)| {
            run.origin.started_at = started_at.to_owned();
            run.origin.host = host.to_owned();
            // Of an emulated machine, its kind would be the name.
            run.lab = None;
            let kernel = &mut run.facts.kernel;
            kernel.release =
                release.map_or_else(Fact::default, |release| Fact::known(release.to_owned(), "test"));
            kernel.preemption = preemption.map_or_else(Fact::default, |model| Fact::known(model, "test"));
            kernel.config = config.map_or_else(Fact::default, |config| Fact::known(config, "test"));
            run.plan.limit_ns = limit_ns;
            if !valid {
                run.plan.phases.iter_mut().for_each(|phase| phase.loads.clear());
            }
            run
        })
}

/// A condition of one search in five, so that most searches with several conditions find something.
fn seldom<T: Clone + std::fmt::Debug + 'static>(values: &[T]) -> impl Strategy<Value = Option<T>> + use<T> {
    proptest::option::weighted(0.2, select(values.to_vec()))
}

fn queries() -> impl Strategy<Value = Query> {
    let judgements = tardy_archive::Outcome::of(
        &file::from_text(include_bytes!("../../tardy-present/tests/runs/lab-rt.run.json")).unwrap(),
        "",
    )
    .entry
    .judgement;
    let config = seldom(&["HZ=1000", "PREEMPT_RT=y", "HZ=n"]);
    let texts = (
        seldom(&["rack3", "AMD", "über", "'s \\", "%"]),
        seldom(&["doload", "none", "do", "disturb"]),
        seldom(&["DISTURB", "irq"]),
    );
    let numbers = (seldom(&["6.12", "6.1..6.12", "..5.10", "7.3"]), seldom(&[100_000_u64, 7]));
    let days = (seldom(&["2024-02-29", "2026-11-26"]), seldom(&["2025-12-31", "2026-11-25"]));
    let models = seldom(&[Preemption::Rt, Preemption::None]);
    (texts, numbers, days, models, config, seldom(&[judgements])).prop_map(
        |((machine, load, cause), (range, limit_ns), (since, until), preemption, config, judgement)| Query {
            machine: machine.map(str::to_owned),
            kernel: range.map(|range| range.parse().unwrap()),
            preemption,
            config: config.into_iter().map(|option| option.parse().unwrap()).collect(),
            load: load.map(str::to_owned),
            since: since.map(|day| day.parse().unwrap()),
            until: until.map(|day| day.parse().unwrap()),
            judgement,
            limit_ns,
            cause: cause.map(str::to_owned),
            ..Query::default()
        },
    )
}

fn files() -> Vec<NewFile> {
    let mut runner = TestRunner::deterministic();
    let runs = runs();
    let one = |number: usize| {
        let mut run = runs.new_tree(&mut runner).unwrap().current();
        run.origin.id = format!("run {number}");
        NewFile { name: format!("{number}.run.json"), content: file::to_text(&run).into_bytes() }
    };
    (0..RUNS).map(one).collect()
}

#[test]
#[ignore = "needs services: make warehouse-test"]
fn both_stores_answer_alike() {
    let directory = tempfile::tempdir().unwrap();
    let mut archive = Archive::to_add(&directory.path().join("archive")).unwrap();
    let mut warehouse = Warehouse::to_add(&place()).unwrap();
    let files = files();
    let [kept, also_kept] = [archive.keep(files.clone()), warehouse.keep(files.clone())]
        .map(|outcomes| outcomes.unwrap().into_iter().map(Result::unwrap).collect::<Vec<_>>());
    assert_eq!(kept, also_kept);
    // Once more, in another order: nothing is counted twice.
    let again = warehouse.keep(files.into_iter().rev().collect()).unwrap();
    assert!(again.iter().all(|outcome| matches!(outcome, Ok(tardy_archive::Kept::Known(_)))));

    let all = archive.find(&Query::default()).unwrap();
    assert_eq!(all.len(), RUNS);
    assert_eq!(warehouse.find(&Query::default()).unwrap(), all, "all, in the same order");
    let boards = archive.boards().unwrap();
    assert!(boards.len() > 3, "{boards:?}");
    assert_eq!(warehouse.boards().unwrap(), boards);
    assert_eq!(warehouse.kernels().unwrap(), archive.kernels().unwrap());
    let (added, mark) = warehouse.added_since(None).unwrap();
    assert_eq!(added.iter().collect::<BTreeSet<_>>(), all.iter().map(|(address, _)| address).collect());
    assert!(warehouse.added_since(Some(&mark)).unwrap().0.len() <= RUNS);
    let board = boards[1].machine.clone();
    let exact = [
        Query { exact_machine: Some(board), ..Query::default() },
        Query { release: Some("6.1.0".to_owned()), ..Query::default() },
    ];
    for query in exact {
        let expected = archive.find(&query).unwrap();
        assert!(!expected.is_empty());
        assert_eq!(warehouse.find(&query).unwrap(), expected);
    }
    let mut found: BTreeMap<usize, u32> = BTreeMap::new();
    let mut runner = TestRunner::deterministic();
    let queries = queries();
    for _ in 0..SEARCHES {
        let query = queries.new_tree(&mut runner).unwrap().current();
        let expected = archive.find(&query).unwrap();
        assert_eq!(warehouse.find(&query).unwrap(), expected, "{query:?}");
        *found.entry(expected.len().min(2)).or_default() += 1;
        assert_eq!(warehouse.count(&query).unwrap(), expected.len() as u64);
        let after = expected.last().map(|(address, _)| address);
        let pages = [&archive as &dyn Store, &warehouse].map(|store| store.page(&query, after, 3).unwrap());
        assert_eq!(pages[0], pages[1], "{query:?}");
    }
    // Searches that find nothing alone would prove nothing.
    assert!(found.get(&2).is_some_and(|count| *count > SEARCHES / 10), "{found:?}");

    let [one, other] = [&archive as &dyn Store, &warehouse].map(|store| {
        let to = directory.path().join(format!("{}", std::ptr::from_ref(store).addr()));
        export(store, &to).unwrap();
        crate::exports::files(&to)
    });
    assert!(one == other, "both stores have the same Parquet files");

    let (address, _) = &all[7];
    let tardy_archive::Stored { name, content } = archive.get(address).unwrap();
    let removed = NewFile { name, content };
    for store in [&mut archive as &mut dyn Store, &mut warehouse] {
        assert!(store.remove(address).unwrap() && !store.remove(address).unwrap());
    }
    assert_eq!(warehouse.find(&Query::default()).unwrap(), archive.find(&Query::default()).unwrap());
    assert!(matches!(warehouse.get(address), Err(tardy_archive::ArchiveError::Unknown(_))));
    assert_eq!(warehouse.verify().unwrap(), (RUNS - 1, Vec::new()));
    // What was removed can be kept again.
    let again = warehouse.keep(vec![removed]).unwrap();
    assert!(matches!(&again[0], Ok(tardy_archive::Kept::New(new)) if new == address));
    assert_eq!(warehouse.find(&Query::default()).unwrap(), all);
}

#[test]
#[ignore = "needs services: make warehouse-test"]
fn a_wrong_password_and_a_wrong_key_are_refused() {
    let place = place();
    Warehouse::to_add(&place).unwrap();
    let text = std::fs::read_to_string(&place).unwrap();
    let directory = place.parent().unwrap();
    std::fs::write(directory.join("wrong-secret"), "wrong\n").unwrap();
    let wrong = directory.join("wrong.toml");
    let run = NewFile { name: "a.run.json".to_owned(), content: crate::services::run("wrong key") };
    for key in ["password-file", "secret-key-file"] {
        let line = text.lines().find(|line| line.starts_with(key)).unwrap();
        std::fs::write(&wrong, text.replace(line, &format!("{key} = 'wrong-secret'"))).unwrap();
        let kept = Warehouse::to_add(&wrong).and_then(|mut archive| archive.keep(vec![run.clone()]));
        let error = kept.unwrap_err().to_string();
        assert!(error.contains("refused (HTTP 403)") && error.contains("check the user"), "{error}");
    }
    let found = Warehouse::to_read(&place).unwrap().find(&Query::default()).unwrap();
    assert!(found.iter().all(|(_, entry)| entry.row.id != "wrong key"));
}
