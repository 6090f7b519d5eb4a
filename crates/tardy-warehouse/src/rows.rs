//! A run as rows of the tables.

use std::collections::BTreeMap;

use serde_json::Value;
use tardy_archive::{Address, Outcome, config_digest};
use tardy_record::Run;
use tardy_record::facts::Facts;
use tardy_record::series::Series;

use crate::tables::Cell;

/// A row.
pub(crate) type Row = Vec<Cell>;

/// That of [`crate::tables::RUNS`].
pub(crate) fn run(address: &Address, run: &Run, outcome: &Outcome) -> Row {
    let Outcome { entry, config } = outcome;
    vec![
        address.as_str().into(),
        run.origin.id.as_str().into(),
        entry.row.name.as_str().into(),
        entry.row.started_at.as_str().into(),
        entry.machine.as_str().into(),
        run.facts.kernel.release.get().map(String::as_str).into(),
        entry.version.map(tardy_archive::KernelVersion::ordinal).into(),
        entry.preemption.map(tardy_record::facts::Preemption::name).into(),
        Cell::Texts(entry.loads.clone()),
        entry.judgement.name().into(),
        Cell::Flag(run.validity.valid),
        entry.limit_ns.map(u64::cast_signed).into(),
        Cell::Texts(entry.causes.clone()),
        run.progress.measured_ns.into(),
        config.as_ref().map(|config| Cell::Text(config_digest(config))).into(),
    ]
}

/// Those of [`crate::tables::SERIES`].
pub(crate) fn series(address: &Address, run: &Run) -> Vec<Row> {
    let one = |(number, series): (usize, &Series)| {
        let phase = run.plan.phases.get(series.phase).map_or("", |phase| phase.label.as_str());
        let tally = &series.tally;
        vec![
            address.as_str().into(),
            (number as u64).into(),
            (series.phase as u64).into(),
            phase.into(),
            series.label.as_str().into(),
            i64::from(series.cpu()).into(),
            series.quantity.name().into(),
            series.level.name().into(),
            series.counted_ns.into(),
            tally.attempted.get().into(),
            tally.recorded.into(),
            tally.missed.get().into(),
            tally.dropped.get().into(),
            series.min_ns.into(),
            series.max_ns.into(),
            series.sum_ns.get().into(),
        ]
    };
    run.series.iter().enumerate().map(one).collect()
}

/// Those of [`crate::tables::HISTOGRAMS`]. All rows of a series together are the histogram that tardy computes quantiles from; without
/// those that are filled they are the readings.
pub(crate) fn histograms(address: &Address, run: &Run) -> Vec<Row> {
    let mut rows = Vec::new();
    for (number, series) in run.series.iter().enumerate() {
        for ((low_ns, high_ns, filled), count) in bins(series) {
            rows.push(vec![
                address.as_str().into(),
                (number as u64).into(),
                low_ns.into(),
                high_ns.into(),
                Cell::Flag(filled),
                count.into(),
            ]);
        }
    }
    rows
}

/// The counts by lower edge, upper edge and whether they are filled in.
fn bins(series: &Series) -> BTreeMap<(i64, i64, bool), i64> {
    let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let mut counts = BTreeMap::new();
    for bin in series.measured.bins() {
        counts.insert((bin.lower_ns, bin.upper_ns, false), signed(bin.count));
    }
    let Some(corrected) = &series.corrected else { return counts };
    let mut filled: BTreeMap<(i64, i64, bool), i64> = BTreeMap::new();
    for bin in corrected.bins() {
        filled.insert((bin.lower_ns, bin.upper_ns, true), signed(bin.count));
    }
    // Of another tool's bins, a measured one may be missing among the corrected ones: its count is then taken away.
    for ((low, high, _), count) in &counts {
        *filled.entry((*low, *high, true)).or_default() -= count;
    }
    counts.extend(filled.into_iter().filter(|(_, count)| *count != 0));
    counts
}

/// Those of [`crate::tables::FACTS`]: keys as in the run file, joined by dots. The configuration of the kernel has its own table.
pub(crate) fn facts(address: &Address, run: &Run) -> Vec<Row> {
    let mut facts: Facts = run.facts.clone();
    facts.kernel.config = tardy_record::facts::Fact::default();
    let value = serde_json::to_value(facts).expect("facts have finite numbers only");
    let mut found = Vec::new();
    flatten("", &value, &mut found);
    let one =
        |(key, value): (String, String)| vec![address.as_str().into(), Cell::Text(key), Cell::Text(value)];
    found.into_iter().filter(|(key, _)| key != "kernel.config").map(one).collect()
}

/// All values below `value`, whose key is `key`. A fact has the key of its value; its source is left out.
fn flatten(key: &str, value: &Value, found: &mut Vec<(String, String)>) {
    let below = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    match value {
        Value::Null => {}
        Value::Object(fields) => match fields.get("value") {
            Some(value) if fields.len() == 2 && fields.contains_key("how") => flatten(key, value, found),
            _ => fields.iter().for_each(|(name, value)| flatten(&below(name), value, found)),
        },
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(at, value)| flatten(&below(&at.to_string()), value, found));
        }
        Value::String(text) => found.push((key.to_owned(), text.clone())),
        other => found.push((key.to_owned(), other.to_string())),
    }
}

/// Those of [`crate::tables::OPTIONS`].
pub(crate) fn options(config: &BTreeMap<String, String>) -> Vec<Row> {
    let digest = config_digest(config);
    config
        .iter()
        .map(|(name, value)| vec![digest.as_str().into(), name.as_str().into(), value.as_str().into()])
        .collect()
}

#[cfg(test)]
mod tests {
    use tardy_record::file;
    use tardy_record::histogram::{Bin, Histogram};

    use super::*;
    use crate::tables::{ALL, Table};

    const STEADY: &[u8] = include_bytes!("../../tardy-present/tests/runs/steady.run.json");

    fn steady() -> (Address, Run, Outcome) {
        let mut run = file::from_text(STEADY).unwrap();
        let address = Address::of(STEADY);
        let outcome = Outcome::of_file(&mut run, "steady.run.json", &address);
        (address, run, outcome)
    }

    #[test]
    fn every_row_has_the_columns_of_its_table() {
        let (address, parsed, outcome) = steady();
        let config = BTreeMap::from([("HZ".to_owned(), "1000".to_owned())]);
        let rows = [
            options(&config),
            facts(&address, &parsed),
            histograms(&address, &parsed),
            series(&address, &parsed),
            vec![run(&address, &parsed, &outcome)],
        ];
        for (Table { name, columns }, rows) in ALL.into_iter().zip(&rows) {
            assert!(!rows.is_empty(), "{name}");
            assert!(rows.iter().all(|row| row.len() == columns.len()), "{name}");
        }
    }

    #[test]
    fn all_rows_of_a_series_are_the_histogram_of_quantiles_and_those_not_filled_the_readings() {
        let (address, mut run, _) = steady();
        let bin = |lower_ns, upper_ns, count| Bin { lower_ns, upper_ns, count };
        run.series.truncate(1);
        run.series[0].measured = Histogram::from_bins(vec![bin(0, 10, 5), bin(10, i64::MAX, 1)]).unwrap();
        run.series[0].corrected =
            Some(Histogram::from_bins(vec![bin(0, 10, 7), bin(10, i64::MAX, 1)]).unwrap());
        let found: Vec<[Cell; 3]> = histograms(&address, &run)
            .into_iter()
            .map(|row| [row[2].clone(), row[4].clone(), row[5].clone()])
            .collect();
        let expected = |low: i64, filled, count: i64| [low.into(), Cell::Flag(filled), count.into()];
        assert_eq!(found, [expected(0, false, 5), expected(0, true, 2), expected(10, false, 1)]);
    }

    #[test]
    fn facts_have_the_keys_of_the_run_file() {
        let (address, run, _) = steady();
        let facts = facts(&address, &run);
        let release = run.facts.kernel.release.get().unwrap().as_str();
        assert!(facts.contains(&vec![address.as_str().into(), "kernel.release".into(), release.into()]));
    }
}
