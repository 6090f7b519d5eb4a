//! Parquet files of an archive in a directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tardy_archive::{Archive, NewFile, Query, Store};
use tardy_record::file;
use tardy_warehouse::{ExportError, export};

fn archive(directory: &Path) -> Archive {
    Archive::to_add(&directory.join("archive")).unwrap()
}

fn keep(archive: &mut Archive, runs: &[(&str, &str)]) {
    let one = |(id, started_at): &(&str, &str)| {
        let mut run = file::from_text(&crate::services::run(id)).unwrap();
        run.origin.started_at = (*started_at).to_owned();
        NewFile { name: format!("{id}.run.json"), content: file::to_text(&run).into_bytes() }
    };
    let outcomes = archive.keep(runs.iter().map(one).collect()).unwrap();
    assert!(outcomes.iter().all(Result::is_ok));
}

/// All files of an export with their content.
pub(crate) fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut below = vec![directory.to_owned()];
    while let Some(next) = below.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => below.push(path),
                false => drop(
                    found.insert(path.strip_prefix(directory).unwrap().to_owned(), fs::read(path).unwrap()),
                ),
            }
        }
    }
    found
}

#[test]
fn an_export_that_is_continued_is_the_one_that_is_made_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| directory.path().join(name));
    let mut archive = archive(directory.path());
    keep(&mut archive, &[("one", "2026-11-25T01:00:00Z"), ("two", "2026-11-26T01:00:00Z"), ("three", "")]);
    let exported = export(&archive, &first).unwrap();
    assert_eq!((exported.runs, exported.days, exported.days_written), (3, 3, 3));
    assert_eq!(export(&archive, &first).unwrap().days_written, 0, "nothing changed");
    keep(&mut archive, &[("four", "2026-11-26T02:00:00Z")]);
    assert_eq!(export(&archive, &first).unwrap().days_written, 1);
    let of_day =
        archive.find(&Query { until: Some("2026-11-25".parse().unwrap()), ..Query::default() }).unwrap();
    assert!(archive.remove(&of_day[0].0).unwrap());
    let exported = export(&archive, &first).unwrap();
    assert_eq!((exported.days_written, exported.days_removed), (0, 1));
    assert_eq!(export(&archive, &second).unwrap().days_written, 2);
    let [first, second] = [files(&first), files(&second)];
    assert!(first == second, "{:?} and {:?}", first.keys(), second.keys());
    assert!(first.contains_key(Path::new("runs/day=2026-11-26/part-00000.parquet")));
    assert!(first.contains_key(Path::new("histograms/day=__HIVE_DEFAULT_PARTITION__/part-00000.parquet")));
}

#[test]
fn a_missing_part_is_written_again_and_another_directory_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("export");
    let mut archive = archive(directory.path());
    keep(&mut archive, &[("one", "2026-11-25T01:00:00Z")]);
    export(&archive, &to).unwrap();
    fs::remove_file(to.join("facts/day=2026-11-25/part-00000.parquet")).unwrap();
    assert_eq!(export(&archive, &to).unwrap().days_written, 1);
    let error = export(&archive, directory.path()).unwrap_err();
    assert!(matches!(error, ExportError::OtherFiles(_)), "{error}");
}

#[test]
fn a_damaged_run_is_named_and_exported_when_it_is_restored() {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("export");
    let mut archive = archive(directory.path());
    keep(&mut archive, &[("one", "2026-11-25T01:00:00Z"), ("two", "2026-11-25T01:00:00Z")]);
    let address = archive.find(&Query::default()).unwrap()[0].0.clone();
    let path = archive.path().join(address.path());
    let content = fs::read(&path).unwrap();
    fs::write(&path, b"damaged").unwrap();
    let exported = export(&archive, &to).unwrap();
    assert_eq!(exported.unreadable.len(), 1);
    fs::write(&path, content).unwrap();
    let exported = export(&archive, &to).unwrap();
    assert_eq!((exported.unreadable.len(), exported.days_written), (0, 1));
}
