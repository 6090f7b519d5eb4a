//! Services that are late, refuse or die: nothing is acknowledged that is not stored, and nothing is stored twice.

use tardy_archive::{Address, ArchiveError, Kept, NewFile, Query, Store};
use tardy_warehouse::Warehouse;

use crate::services::{Failure, Services, run};

fn keep(services: &Services, ids: &[&str]) -> Result<Vec<Kept>, ArchiveError> {
    let files = ids.iter().map(|id| NewFile { name: format!("{id}.run.json"), content: run(id) });
    let outcomes = Warehouse::to_add(&services.archive)?.keep(files.collect())?;
    outcomes.into_iter().collect()
}

#[test]
fn a_run_is_stored_before_its_rows_and_known_after_them() {
    let services = Services::start();
    let kept = keep(&services, &["one", "two", "one"]).unwrap();
    assert!(matches!(&kept[..], [Kept::New(one), Kept::New(_), Kept::Known(again)] if one == again));
    let state = services.state();
    let position = |part: &str| state.requests.iter().position(|line| line.contains(part)).unwrap();
    let order = ["PUT /bucket/p/runs/", "d.facts", "d.histograms", "d.series", "d.runs"].map(position);
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!((state.objects.len(), state.runs().len()), (2, 2));
    drop(state);
    assert!(matches!(&keep(&services, &["one"]).unwrap()[..], [Kept::Known(_)]));
    let found = Warehouse::to_read(&services.archive).unwrap().find(&Query::default()).unwrap();
    assert_eq!(found.len(), 2);
    assert!(found.iter().any(|(_, entry)| entry.row.name == "one"), "the name of its file is kept");
}

#[test]
fn no_failure_of_a_service_is_a_kept_run_and_the_next_try_stores_it_once() {
    let failures = [
        Failure::Refuses(500),
        Failure::Refuses(403),
        Failure::Refuses(302),
        Failure::Exception,
        Failure::Late,
        Failure::Half,
        Failure::StoresAndDies,
    ];
    let requests =
        ["GET /bucket/", "PUT /bucket/", "INSERT INTO d.histograms", "INSERT INTO d.runs", "SELECT id"];
    std::thread::scope(|scope| {
        for failure in failures {
            // The bucket does not speak of exceptions.
            let has_effect = |request: &&str| failure != Failure::Exception || !request.contains("/bucket/");
            for request in requests.into_iter().filter(has_effect) {
                scope.spawn(move || a_failure_is_not_a_kept_run(failure, request));
            }
        }
    });
}

fn a_failure_is_not_a_kept_run(failure: Failure, request: &'static str) {
    let services = Services::start();
    keep(&services, &["zero"]).unwrap();
    services.fail(request, failure);
    let error = keep(&services, &["one", "two"]).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, ArchiveError::Service { .. }), "{failure:?} of {request}: {text}");
    assert!(text.contains("127.0.0.1") && !text.contains("hidden-secret"), "{text}");
    assert!(!text.contains("Signature") && !text.contains('\n'), "{text}");
    let stored_before_it_failed = matches!(failure, Failure::StoresAndDies | Failure::Half);
    if !stored_before_it_failed {
        assert_eq!(services.state().runs().len(), 1, "{failure:?} of {request}");
    }
    services.state().failure = None;
    assert_eq!(keep(&services, &["one", "two"]).unwrap().len(), 2);
    let state = services.state();
    assert_eq!((state.objects.len(), state.runs().len()), (3, 3), "{failure:?} of {request}");
}

#[test]
fn a_late_service_and_one_that_refuses_are_named_with_what_to_do() {
    let services = Services::start();
    keep(&services, &["one"]).unwrap();
    let cases = [
        ("SELECT comment", Failure::Late, "ClickHouse at http://127.0.0.1", "no answer within 1 s"),
        ("SELECT comment", Failure::Refuses(403), "no memory", "check the user"),
        ("SELECT comment", Failure::Half, "ClickHouse", "no whole answer"),
        ("SELECT address, entry", Failure::Exception, "ClickHouse", "DB::Exception: no memory"),
    ];
    for (request, failure, what, advice) in cases {
        services.fail(request, failure);
        let found = Warehouse::to_read(&services.archive).and_then(|archive| archive.find(&Query::default()));
        let error = found.unwrap_err().to_string();
        assert!(error.contains(what) && error.contains(advice), "{error}");
    }
    services.fail("GET /bucket/", Failure::Half);
    let address = Address::of(&run("one"));
    let error = Warehouse::to_read(&services.archive).unwrap().open(&address).unwrap_err().to_string();
    assert!(
        error.contains("bucket bucket at http://127.0.0.1") && error.contains("no whole answer"),
        "{error}"
    );
}

#[test]
fn a_service_that_is_not_there_is_an_error() {
    let services = Services::start();
    let text = std::fs::read_to_string(&services.archive).unwrap();
    let text: String = text
        .lines()
        .map(|line| match line.starts_with("url") {
            // Port 1 of the loopback interface has no service.
            true => "url = 'http://127.0.0.1:1'\n".to_owned(),
            false => format!("{line}\n"),
        })
        .collect();
    std::fs::write(&services.archive, text).unwrap();
    let error = keep(&services, &["one"]).unwrap_err().to_string();
    assert!(
        error.contains("ClickHouse at http://127.0.0.1:1") && error.contains("check its address"),
        "{error}"
    );
    assert!(services.state().objects.is_empty());
}

#[test]
fn the_same_run_with_other_content_is_refused() {
    let services = Services::start();
    keep(&services, &["one"]).unwrap();
    let mut other = tardy_record::file::from_text(&run("one")).unwrap();
    other.origin.name = Some("better".to_owned());
    let content = tardy_record::file::to_text(&other).into_bytes();
    let file = NewFile { name: "other.run.json".to_owned(), content };
    let broken = NewFile { name: "broken".to_owned(), content: b"{".to_vec() };
    let outcomes = Warehouse::to_add(&services.archive).unwrap().keep(vec![file, broken]).unwrap();
    let error = outcomes[0].as_ref().unwrap_err().to_string();
    assert!(error.contains("only the name differs"), "{error}");
    assert!(matches!(outcomes[1], Err(ArchiveError::NotARun(_))));
    assert_eq!(services.state().objects.len(), 1);
}

#[test]
fn a_run_whose_rows_are_missing_is_found_again_and_a_damaged_file_is_named() {
    let services = Services::start();
    let kept = keep(&services, &["one", "two"]).unwrap();
    services.state().rows.clear();
    let damages = Warehouse::to_read(&services.archive).unwrap().verify().unwrap();
    assert_eq!((damages.0, damages.1.len()), (2, 2));
    let (archive, unreadable) = Warehouse::make_index(&services.archive).unwrap();
    assert!(unreadable.is_empty());
    assert_eq!(archive.find(&Query::default()).unwrap().len(), 2);
    let key = format!("p/{}", kept[0].address().path().display());
    services.state().objects.insert(key, b"not gzip".to_vec());
    let (_, damages) = archive.verify().unwrap();
    assert_eq!(damages.iter().map(|damage| &damage.file).collect::<Vec<_>>(), [&kept[0].address().path()]);
    assert!(matches!(archive.get(kept[0].address()), Err(ArchiveError::Damaged { .. })));
    services.state().objects.clear();
    let (archive, _) = Warehouse::make_index(&services.archive).unwrap();
    assert!(archive.find(&Query::default()).unwrap().is_empty(), "rows without a file are removed");
}

#[test]
fn a_removal_that_was_interrupted_is_continued() {
    let services = Services::start();
    let address = keep(&services, &["one"]).unwrap()[0].address().clone();
    let mut archive = Warehouse::to_read(&services.archive).unwrap();
    services.fail("DELETE /bucket", Failure::Refuses(503));
    assert!(archive.remove(&address).is_err());
    services.state().failure = None;
    assert!(archive.remove(&address).unwrap() && !archive.remove(&address).unwrap());
    assert!(services.state().objects.is_empty() && services.state().runs().is_empty());
    assert!(matches!(archive.get(&address), Err(ArchiveError::Unknown(_))));
}

#[test]
fn the_path_of_a_run_names_the_archive_and_the_address() {
    let services = Services::start();
    let address = Address::of(b"abc");
    let path = services.archive.join(address.path());
    assert_eq!(Warehouse::run_at(&path), Some((services.archive.as_path(), address.clone())));
    assert_eq!(Warehouse::run_at(&services.directory().join(address.path())), None);
}
