use std::collections::BTreeMap;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::select;
use tardy_analyse::judgement::Judgement;
use tardy_record::facts::Preemption;
use tardy_record::file;

use super::*;
use crate::KernelVersion;

/// That of an example, which is analysed once.
fn outcome() -> Outcome {
    static OUTCOME: LazyLock<Outcome> = LazyLock::new(|| {
        let run = file::from_text(include_bytes!("../../../tardy-present/tests/runs/steady.run.json"));
        Outcome::of(&run.unwrap(), "steady.run.json")
    });
    OUTCOME.clone()
}

fn some<T: Clone + std::fmt::Debug + 'static>(values: &[T]) -> impl Strategy<Value = Option<T>> + use<T> {
    proptest::option::of(select(values.to_vec()))
}

const MACHINES: [&str; 4] = ["rack3, Raspberry Pi 4 Model B", "Rack33, x86", "", "Übertragung, ARM"];
const LOADS: [&str; 5] = ["none", "doload", "memory:64", "memory", "mem"];
const CAUSES: [&str; 3] = ["interrupts off: disturb", "higher priority: irq/39-dwc_otg", "machine: machine"];
const DAYS: [&str; 4] = ["", "2024-02-29T01:02:03Z", "2026-11-25T23:59:59Z", "2026-11-26T00:00:00Z"];
const RELEASES: [&str; 4] = ["6.12.118-rt-amd64", "6.1.0", "5.10.209", "7.3-rc1"];
const MODELS: [Preemption; 3] = [Preemption::Rt, Preemption::Full, Preemption::None];

fn outcomes() -> impl Strategy<Value = Vec<Outcome>> {
    let config = proptest::option::of(proptest::collection::btree_map(
        select(vec!["HZ".to_owned(), "PREEMPT_RT".to_owned()]),
        select(vec!["1000".to_owned(), "y".to_owned()]),
        0..3,
    ));
    let words = |all: &'static [&'static str]| proptest::collection::vec(select(all.to_vec()), 0..3);
    let one = (
        (select(MACHINES.to_vec()), some(&RELEASES), some(&MODELS), words(&LOADS), select(DAYS.to_vec())),
        (select(Judgement::ALL.to_vec()), some(&[100_000, 1_000_000]), words(&CAUSES), config),
    );
    let made = one.prop_map(
        |((machine, release, preemption, loads, started_at), (judgement, limit_ns, causes, config))| {
            let owned = |all: Vec<&str>| all.into_iter().map(str::to_owned).collect();
            let Outcome { mut entry, .. } = outcome();
            entry.row.started_at = started_at.to_owned();
            entry.row.kernel = release.map(str::to_owned);
            entry = Entry {
                machine: machine.to_owned(),
                version: release.and_then(KernelVersion::of_release),
                preemption,
                loads: owned(loads),
                limit_ns,
                judgement,
                causes: owned(causes),
                ..entry
            };
            Outcome { entry, config }
        },
    );
    proptest::collection::vec(made, 0..12)
}

fn queries() -> impl Strategy<Value = Query> {
    let ranges = ["6.12", "6.1..6.12", "..5.10", "7.3"];
    let options = ["HZ=1000", "PREEMPT_RT=y", "HZ=n"];
    let parsed = |texts: &'static [&'static str]| some(texts);
    (
        (
            (some(&["rack3", "PI 4", "über", "arm"]), some(&MACHINES), some(&RELEASES)),
            parsed(&["6.12", "6.1..6.12", "..5.10", "7.3"]),
            some(&MODELS),
        ),
        proptest::collection::vec(select(options.to_vec()), 0..2),
        (
            some(&["memory", "memory:64", "none", "mem"]),
            some(&["2024-02-29", "2026-11-26"]),
            some(&["2026-11-25"]),
        ),
        (some(&Judgement::ALL), some(&[100_000_u64, 7]), some(&["DISTURB", "dwc"])),
    )
        .prop_map(
            move |(
                ((machine, exact_machine, release), range, preemption),
                config,
                (load, since, until),
                (judgement, limit_ns, cause),
            )| {
                assert!(range.is_none_or(|range| ranges.contains(&range)));
                Query {
                    machine: machine.map(str::to_owned),
                    exact_machine: exact_machine.map(str::to_owned),
                    release: release.map(str::to_owned),
                    kernel: range.map(|range| range.parse().unwrap()),
                    preemption,
                    config: config.into_iter().map(|option| option.parse().unwrap()).collect(),
                    load: load.map(str::to_owned),
                    since: since.map(|day| day.parse().unwrap()),
                    until: until.map(|day| day.parse().unwrap()),
                    judgement,
                    limit_ns,
                    cause: cause.map(str::to_owned),
                }
            },
        )
}

fn addressed(outcomes: Vec<Outcome>) -> Vec<(Address, String, Outcome)> {
    let one = |(number, outcome): (usize, Outcome)| {
        (Address::of(&number.to_le_bytes()), format!("run {number}"), outcome)
    };
    outcomes.into_iter().enumerate().map(one).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_index_finds_what_a_look_at_every_run_finds(outcomes in outcomes(), query in queries()) {
        let mut index = Index::new(Path::new(":memory:")).unwrap();
        let runs = addressed(outcomes);
        index.put(&runs, true).unwrap();
        let found: BTreeMap<Address, Entry> = index.find(&query).unwrap().into_iter().collect();
        let expected = runs.into_iter().filter(|(_, _, outcome)| query.finds(outcome));
        let expected: BTreeMap<Address, Entry> =
            expected.map(|(address, _, outcome)| (address, outcome.entry)).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn pages_and_boards_are_those_of_all_runs(outcomes in outcomes(), query in queries(), limit in 1..4_usize) {
        let mut index = Index::new(Path::new(":memory:")).unwrap();
        let runs = addressed(outcomes);
        index.put(&runs, true).unwrap();
        let mut all = index.find(&query).unwrap();
        all.reverse();
        prop_assert_eq!(index.count(&query).unwrap() as usize, all.len());
        let mut pages = Vec::new();
        loop {
            let after = pages.last().map(|(address, _): &(Address, Entry)| address.clone());
            let page = index.page(&query, after.as_ref(), limit).unwrap();
            prop_assert!(page.len() <= limit);
            let is_last = page.len() < limit;
            pages.extend(page);
            if is_last { break; }
        }
        prop_assert_eq!(pages, all);
        let mut boards: BTreeMap<String, (u64, Address)> = BTreeMap::new();
        for (address, entry) in index.find(&Query::default()).unwrap() {
            let board = boards.entry(entry.machine.clone()).or_insert_with(|| (0, address.clone()));
            *board = (board.0 + 1, address);
        }
        let found = index.boards().unwrap();
        let found: Vec<_> = found.into_iter().map(|board| (board.machine, (board.runs, board.newest.0))).collect();
        prop_assert_eq!(found, boards.into_iter().collect::<Vec<_>>());
        for (release, count) in index.kernels().unwrap() {
            let on_it = Query { release: Some(release), ..Query::default() };
            prop_assert_eq!(index.count(&on_it).unwrap(), count);
        }
    }
}

#[test]
fn what_was_added_since_is_found_once_and_again_in_another_index() {
    let mut index = Index::new(Path::new(":memory:")).unwrap();
    let runs = addressed(vec![outcome(); 3]);
    index.put(&runs[..2], true).unwrap();
    let (first, mark) = index.added_since(None).unwrap();
    assert_eq!(first, [runs[0].0.clone(), runs[1].0.clone()]);
    index.put(&runs[2..], false).unwrap();
    assert_eq!(index.added_since(Some(&mark)).unwrap(), (vec![], mark.clone()), "its file is not there yet");
    index.note_stored([&runs[2].0], true).unwrap();
    let (second, mark) = index.added_since(Some(&mark)).unwrap();
    assert_eq!(second, [runs[2].0.clone()]);
    index.remove(&runs[2].0).unwrap();
    assert_eq!(index.added_since(Some(&mark)).unwrap().0, []);
    index.put(&runs[2..], true).unwrap();
    assert_eq!(
        index.added_since(Some(&mark)).unwrap().0,
        [runs[2].0.clone()],
        "its number is not used again"
    );
    let mut other = Index::new(Path::new(":memory:")).unwrap();
    other.put(&runs, true).unwrap();
    assert_eq!(other.added_since(Some(&mark)).unwrap().0.len(), 3);
}

#[test]
fn a_run_is_found_when_its_file_is_in_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let mut index = Index::new(&directory.path().join(FILE)).unwrap();
    let runs = addressed(vec![outcome()]);
    index.put(&runs, false).unwrap();
    assert!(index.find(&Query::default()).unwrap().is_empty());
    assert_eq!(index.unfinished().unwrap(), [runs[0].0.clone()]);
    index.note_stored([&runs[0].0], true).unwrap();
    assert_eq!(index.find(&Query::default()).unwrap().len(), 1);
    assert!(index.unfinished().unwrap().is_empty());
    index.remove(&runs[0].0).unwrap();
    assert!(index.stored().unwrap().is_empty());
}

#[test]
fn an_index_of_another_version_is_recognised() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(FILE);
    let index = Index::new(&path).unwrap();
    assert_eq!(index.age().unwrap(), Age::Present);
    index.connection.pragma_update(None, "user_version", VERSION + 1).unwrap();
    assert_eq!(Index::to_read(&path).unwrap().age().unwrap(), Age::Later);
    index.connection.pragma_update(None, "user_version", VERSION - 1).unwrap();
    assert_eq!(Index::to_read(&path).unwrap().age().unwrap(), Age::Earlier);
}
