//! Archives on a disk: what is kept, what is refused, and what is noticed.

use std::fs;
use std::path::{Path, PathBuf};

use tardy_archive::{Address, Archive, ArchiveError, Kept, NewFile, Query, Store};
use tardy_record::{Run, file};

const STEADY: &str = include_str!("../../tardy-present/tests/runs/steady.run.json");

/// A run with this identity and name.
fn run(id: &str, name: Option<&str>) -> Vec<u8> {
    let mut run: Run = file::from_text(STEADY.as_bytes()).unwrap();
    run.origin.id = id.to_owned();
    run.origin.name = name.map(str::to_owned);
    file::to_text(&run).into_bytes()
}

fn keep(path: &Path, files: &[(&str, Vec<u8>)]) -> Vec<Result<Kept, ArchiveError>> {
    let new =
        |(name, content): &(&str, Vec<u8>)| NewFile { name: (*name).to_owned(), content: content.clone() };
    Archive::to_add(path).unwrap().keep(files.iter().map(new).collect()).unwrap()
}

fn found(path: &Path) -> Vec<String> {
    let all = Archive::to_read(path).unwrap().find(&Query::default()).unwrap();
    let mut names: Vec<String> = all.into_iter().map(|(_, entry)| entry.row.name).collect();
    // Runs that began at the same time are in the order of their digests.
    names.sort();
    names
}

fn archive() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("archive");
    (directory, path)
}

fn file_of(path: &Path, address: &Address) -> PathBuf {
    path.join(address.path())
}

#[test]
fn a_run_is_kept_once_and_comes_back_as_it_was() {
    let (_directory, path) = archive();
    let content = run("one", None);
    let outcomes = keep(&path, &[("idle.run.json", content.clone()), ("copy.run.json", content.clone())]);
    let address = Address::of(&content);
    assert_eq!(outcomes[0].as_ref().unwrap(), &Kept::New(address.clone()));
    assert_eq!(outcomes[1].as_ref().unwrap(), &Kept::Known(address.clone()), "the same run under two names");
    assert_eq!(
        keep(&path, &[("again.run.json", content)])[0].as_ref().unwrap(),
        &Kept::Known(address.clone())
    );
    assert_eq!(found(&path), ["idle"], "the name of its file is kept");
    let kept = Archive::to_read(&path).unwrap().open(&address).unwrap();
    assert_eq!(file::to_text(&kept).into_bytes(), run("one", None));
}

#[test]
fn the_same_run_with_other_content_is_refused_and_the_others_are_kept() {
    let (_directory, path) = archive();
    keep(&path, &[("a.run.json", run("one", None))]);
    let files = [
        ("b.run.json", run("one", Some("better"))),
        ("c.run.json", b"{}".to_vec()),
        ("d.run.json", run("two", None)),
    ];
    let outcomes = keep(&path, &files);
    let error = outcomes[0].as_ref().unwrap_err().to_string();
    assert!(error.contains("only the name differs") && error.contains("better"), "{error}");
    assert!(outcomes[1].is_err());
    assert!(matches!(outcomes[2], Ok(Kept::New(_))));
    assert_eq!(found(&path), ["a", "d"]);
    // In one go, too.
    let (_directory, path) = archive();
    let outcomes =
        keep(&path, &[("a.run.json", run("one", None)), ("b.run.json", run("one", Some("better")))]);
    assert!(outcomes[0].is_ok() && outcomes[1].is_err());
}

#[test]
fn a_run_in_progress_is_refused() {
    let (_directory, path) = archive();
    let mut run: Run = file::from_text(STEADY.as_bytes()).unwrap();
    run.progress.state = tardy_record::run::State::Running;
    let outcomes = keep(&path, &[("a.run.json", file::to_text(&run).into_bytes())]);
    assert!(outcomes[0].as_ref().unwrap_err().to_string().contains("tardy recover"));
}

#[test]
fn a_flipped_bit_a_missing_file_and_a_stranger_are_found_and_named() {
    let (_directory, path) = archive();
    let contents: Vec<Vec<u8>> = (0..4).map(|number| run(&format!("run {number}"), None)).collect();
    let files: Vec<(&str, Vec<u8>)> =
        contents.iter().map(|content| ("x.run.json", content.clone())).collect();
    keep(&path, &files);
    let verify = || Archive::to_read(&path).unwrap().verify().unwrap();
    assert_eq!(verify(), (4, Vec::new()));
    let addresses: Vec<Address> = contents.iter().map(|content| Address::of(content)).collect();
    let flipped = file_of(&path, &addresses[0]);
    let mut bytes = fs::read(&flipped).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&flipped, bytes).unwrap();
    fs::remove_file(file_of(&path, &addresses[1])).unwrap();
    fs::copy(file_of(&path, &addresses[2]), file_of(&path, &Address::of(b"other"))).unwrap_or_else(|_| {
        let to = file_of(&path, &Address::of(b"other"));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(file_of(&path, &addresses[2]), to).unwrap()
    });
    fs::write(path.join("runs/notes.txt"), "").unwrap();
    let (count, damages) = verify();
    assert_eq!(count, 4, "three of the runs, and the copy under a wrong name");
    let reason = |file: &Path| {
        let of_file = damages.iter().filter(|damage| damage.file == file);
        of_file.map(|damage| damage.reason.as_str()).collect::<Vec<_>>().join(" ")
    };
    assert!(reason(&addresses[0].path()).contains("restore it"), "{damages:?}");
    assert!(reason(&addresses[1].path()).contains("missing"), "{damages:?}");
    assert!(reason(&Address::of(b"other").path()).contains("not the one that its name says"), "{damages:?}");
    assert!(reason(Path::new("runs/notes.txt")).contains("not a run file"), "{damages:?}");
    assert_eq!(reason(&addresses[3].path()), "");
}

#[test]
fn the_index_is_made_again_from_the_files() {
    let (_directory, path) = archive();
    keep(&path, &[("a.run.json", run("one", None)), ("b.run.json", run("two", Some("named")))]);
    let before = Archive::to_read(&path).unwrap().find(&Query::default()).unwrap();
    fs::remove_file(path.join("index.sqlite3")).unwrap();
    let error = Archive::to_read(&path).unwrap_err().to_string();
    assert!(error.contains("tardy archive index"), "{error}");
    let (archive, unreadable) = Archive::make_index(&path).unwrap();
    assert!(unreadable.is_empty());
    assert_eq!(archive.find(&Query::default()).unwrap(), before);
    assert!(!path.join("index.sqlite3.new").exists());
}

#[test]
fn what_a_killed_process_left_is_finished() {
    let (_directory, path) = archive();
    let content = run("one", None);
    keep(&path, &[("a.run.json", content.clone())]);
    let set = |stored: bool| {
        let index = rusqlite::Connection::open(path.join("index.sqlite3")).unwrap();
        index.execute("UPDATE runs SET stored = ?", [stored]).unwrap();
    };
    // Killed after the file got its name.
    set(false);
    assert!(found(&path).is_empty());
    assert!(matches!(keep(&path, &[("a.run.json", content.clone())])[0], Ok(Kept::Known(_))));
    assert_eq!(found(&path).len(), 1);
    // Killed before.
    set(false);
    fs::remove_file(file_of(&path, &Address::of(&content))).unwrap();
    assert!(matches!(keep(&path, &[("a.run.json", content)])[0], Ok(Kept::New(_))));
    assert_eq!(found(&path).len(), 1);
}

#[test]
fn a_damaged_or_missing_run_is_put_back_when_it_is_added_again() {
    let (_directory, path) = archive();
    let content = run("one", None);
    let file = file_of(&path, &Address::of(&content));
    keep(&path, &[("a.run.json", content.clone())]);
    let whole = fs::read(&file).unwrap();
    let damage: [&dyn Fn(); 2] =
        [&|| fs::remove_file(&file).unwrap(), &|| fs::write(&file, &whole[..whole.len() / 2]).unwrap()];
    for damage in damage {
        damage();
        assert!(matches!(keep(&path, &[("a.run.json", content.clone())])[0], Ok(Kept::New(_))));
        assert_eq!(fs::read(&file).unwrap(), whole);
        assert_eq!(Archive::to_read(&path).unwrap().verify().unwrap(), (1, Vec::new()));
    }
}

/// A process that was killed while it committed: its journal is there, and files that never got their names.
#[test]
fn a_journal_that_a_killed_process_left_is_rolled_back() {
    let (_directory, path) = archive();
    keep(&path, &[("a.run.json", run("one", None))]);
    let index = path.join("index.sqlite3");
    let connection = rusqlite::Connection::open(&index).unwrap();
    connection.pragma_update(None, "cache_size", 1).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE; CREATE TABLE filler (text TEXT)").unwrap();
    for _ in 0..200 {
        connection.execute("INSERT INTO filler VALUES (hex(zeroblob(2000)))", []).unwrap();
    }
    // The copy is what a killed process leaves: pages of an unfinished transaction, and the journal that takes them back.
    let copy_of = |name: &str| fs::read(path.join(name)).unwrap();
    let left = ["index.sqlite3", "index.sqlite3-journal"].map(|name| (name, copy_of(name)));
    connection.execute_batch("ROLLBACK").unwrap();
    drop(connection);
    let leave = || left.iter().for_each(|(name, content)| fs::write(path.join(name), content).unwrap());
    leave();
    assert_eq!(found(&path), ["a"]);
    leave();
    let temporary = path.join("runs/00/.x.run.json.gz.123.tmp");
    fs::create_dir_all(temporary.parent().unwrap()).unwrap();
    fs::write(&temporary, "").unwrap();
    assert!(matches!(keep(&path, &[("b.run.json", run("two", None))])[0], Ok(Kept::New(_))));
    assert!(!temporary.exists());
    assert_eq!(Archive::to_read(&path).unwrap().verify().unwrap(), (2, Vec::new()));
    leave();
    Archive::make_index(&path).unwrap();
    assert_eq!(found(&path), ["a", "b"], "the journal is not applied to the new index");
}

#[test]
fn processes_that_add_at_the_same_time_wait_for_each_other() {
    let (_directory, path) = archive();
    let contents: Vec<Vec<u8>> = (0..6).map(|number| run(&format!("run {number}"), None)).collect();
    std::thread::scope(|scope| {
        for content in &contents {
            let path = &path;
            scope.spawn(move || assert!(keep(path, &[("a.run.json", content.clone())])[0].is_ok()));
        }
    });
    assert_eq!(Archive::to_read(&path).unwrap().verify().unwrap(), (6, Vec::new()));
}

#[test]
fn an_archive_behind_a_link_is_used() {
    let (directory, path) = archive();
    keep(&path, &[("a.run.json", run("one", None))]);
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    keep(&link, &[("b.run.json", run("two", None))]);
    assert_eq!(found(&link), ["a", "b"]);
}

/// An archive that each version of the tables has written, with the same two runs.
#[test]
fn the_archive_of_every_version_is_read_or_its_index_is_made_again() {
    let archives = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/archives");
    let mut versions = 0;
    for stored in fs::read_dir(archives).unwrap() {
        let stored = stored.unwrap().path();
        let (_directory, path) = archive();
        copy(&stored, &path);
        drop(Archive::to_add(&path).unwrap());
        assert_eq!(found(&path), ["steady", "timerlat"], "{}", stored.display());
        versions += 1;
    }
    assert_eq!(versions, 2, "every version of the tables has an archive in tests/archives");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

#[test]
fn what_is_not_an_archive_is_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("photo.jpg"), "").unwrap();
    let error = Archive::to_add(directory.path()).unwrap_err().to_string();
    assert!(error.contains("is not an archive"), "{error}");
    assert!(
        Archive::to_read(&directory.path().join("missing")).unwrap_err().to_string().contains("archive add")
    );
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    let (_directory, path) = archive();
    keep(&path, &[]);
    fs::write(path.join("tardy-archive.json"), "{\"tardy_archive\": 9}").unwrap();
    assert!(Archive::to_add(&path).unwrap_err().to_string().contains("version 9"));
}

#[test]
fn a_store_keeps_pages_and_removes_while_it_is_read() {
    let (_directory, path) = archive();
    drop(Archive::to_add(&path).unwrap());
    let mut reader = Archive::to_read(&path).unwrap();
    let store: &mut dyn Store = &mut reader;
    let file = |id: &str| NewFile { name: format!("{id}.run.json"), content: run(id, None) };
    let broken = NewFile { name: "broken.run.json".to_owned(), content: b"{".to_vec() };
    let outcomes = store.keep(vec![file("one"), broken, file("two"), file("one")]).unwrap();
    let kept: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
    assert_eq!(kept, [true, false, true, true]);
    let [one, two] = [0, 2].map(|at: usize| outcomes[at].as_ref().unwrap().address().clone());
    assert_eq!(outcomes[3].as_ref().unwrap(), &Kept::Known(one.clone()));
    let all = store.find(&Query::default()).unwrap();
    assert_eq!(store.page(&Query::default(), Some(&all[1].0), 5).unwrap(), all[..1], "the newest first");
    assert_eq!(store.boards().unwrap().iter().map(|board| board.runs).collect::<Vec<_>>(), [2]);
    assert_eq!(store.get(&two).unwrap().content, run("two", None));
    assert_eq!(store.open(&one).unwrap().origin.id, "one");
    assert!(store.remove(&one).unwrap() && !store.remove(&one).unwrap());
    assert!(matches!(store.get(&one), Err(ArchiveError::Unknown(unknown)) if unknown == one));
    assert!(matches!(store.page(&Query::default(), Some(&one), 5), Err(ArchiveError::Unknown(_))));
    assert_eq!(found(&path), ["two"]);
    assert_eq!(Archive::to_read(&path).unwrap().verify().unwrap(), (1, Vec::new()), "nothing is left of it");
    assert!(matches!(store.keep(vec![file("one")]).unwrap()[0], Ok(Kept::New(_))));
}

#[test]
fn an_index_that_does_not_agree_with_a_run_file_is_named() {
    let (_directory, path) = archive();
    let content = run("one", None);
    keep(&path, &[("a.run.json", content.clone()), ("b.run.json", run("two", None))]);
    let verified = || Archive::to_read(&path).unwrap().verify().unwrap();
    assert_eq!(verified(), (2, Vec::new()));
    let address = Address::of(&content);
    let changes = [
        ("worst_ns", "UPDATE entries SET entry = replace(entry, '\"worst_ns\":', '\"worst_ns\":1')"),
        ("machine", "UPDATE runs SET machine = 'another'"),
        ("judgement", "UPDATE runs SET judgement = 'met, or not'"),
        ("limit_ns", "UPDATE runs SET limit_ns = 7"),
        ("the options", "DELETE FROM options WHERE name = (SELECT min(name) FROM options)"),
    ];
    for (what, change) in changes {
        let index = rusqlite::Connection::open(path.join("index.sqlite3")).unwrap();
        let of_one = match change.starts_with("UPDATE") {
            true => {
                format!("{change} WHERE sequence = (SELECT sequence FROM runs WHERE address = '{address}')")
            }
            false => change.to_owned(),
        };
        assert_eq!(index.execute(&of_one, []).unwrap(), 1, "{of_one}");
        drop(index);
        let (_, damages) = verified();
        let damage = damages.iter().find(|damage| damage.file == address.path());
        let damage = damage.unwrap_or_else(|| panic!("{what}: {damages:?}"));
        assert!(
            damage.reason.contains(what) && damage.reason.contains("'tardy archive index'"),
            "{what}: {}",
            damage.reason
        );
        Archive::make_index(&path).unwrap();
        assert_eq!(verified(), (2, Vec::new()));
    }
}

#[test]
fn a_kept_run_that_this_tardy_refuses_is_listed() {
    let (_directory, path) = archive();
    keep(&path, &[("a.run.json", run("one", None))]);
    let text = String::from_utf8(run("two", None)).unwrap();
    let known = text.split("\"measured_ns\":").nth(1).unwrap().split(',').next().unwrap();
    let refused = text.replace(&format!("\"measured_ns\":{known}"), "\"measured_ns\":18446744073709551615");
    assert!(refused != text && file::from_text(refused.as_bytes()).is_err());
    let address = Address::of(refused.as_bytes());
    let place = file_of(&path, &address);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    let mut stored = Vec::new();
    tardy_archive::write_compressed(refused.as_bytes(), "two.run.json", &mut stored).unwrap();
    fs::write(place, stored).unwrap();
    let (archive, unreadable) = Archive::make_index(&path).unwrap();
    assert!(unreadable[0].to_string().contains(&address.path().display().to_string()), "{unreadable:?}");
    let (_, damages) = archive.verify().unwrap();
    assert!(damages.iter().any(|damage| damage.file == address.path()
        && damage.reason.contains("measured_ns")
        && damage.reason.contains("no page and no search shows it")));
}

#[test]
fn a_new_archive_and_its_files_are_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (_directory, path) = archive();
    let content = run("one", None);
    keep(&path, &[("a.run.json", content.clone())]);
    drop(tardy_archive::Audit::open(&path).unwrap());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&path), 0o700);
    assert_eq!(mode(&path.join("server")), 0o700);
    for file in [file_of(&path, &Address::of(&content)), path.join("index.sqlite3"), path.join("lock")] {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    // One that is shared stays so, but not its server's records.
    for shared in [&path, &path.join("server")] {
        fs::set_permissions(shared, fs::Permissions::from_mode(0o755)).unwrap();
    }
    keep(&path, &[("b.run.json", run("two", None))]);
    drop(tardy_archive::Audit::open(&path).unwrap());
    assert_eq!((mode(&path), mode(&path.join("server"))), (0o755, 0o700));
}

#[test]
fn a_search_with_more_conditions_than_a_database_nests_is_refused() {
    let (_directory, path) = archive();
    keep(&path, &[("a.run.json", run("one", None))]);
    let of = |count: usize| {
        let config = (0..count).map(|number| format!("A{number}=n").parse().unwrap()).collect();
        Archive::to_read(&path).unwrap().find(&Query { config, ..Query::default() })
    };
    assert!(of(100).is_ok());
    assert!(matches!(of(3000), Err(ArchiveError::TooManyConditions { count: 3000, most: 100 })));
}
