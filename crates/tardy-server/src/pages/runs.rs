//! Reports of runs, comparisons, and the run files themselves.

use tardy_analyse::findings::Options;
use tardy_archive::{Address, ArchiveError, Query, Store, write_compressed};
use tardy_present::report;
use tardy_record::Run;

use crate::answer::{Answer, Refusal};
use crate::request::Request;
use crate::service::Service;

/// The end of the name of a run's report.
const REPORT: &str = ".html";
/// That of its comparison with the run before.
const COMPARISON: &str = "-before.html";
/// That of its file.
const FILE: &str = ".run.json.gz";

/// What belongs to a run: its report, its comparison with the run before it on the same board, its file.
pub(crate) fn one(service: &Service, request: &Request) -> Result<Answer, Refusal> {
    let file = request.part("file");
    let of = |end: &str| file.strip_suffix(end).and_then(|address| address.parse::<Address>().ok());
    let store = service.store()?;
    if let Some(address) = of(FILE) {
        return run_file(&*store, &address);
    }
    if let Some(address) = of(COMPARISON) {
        let before = before(&*store, &address)?;
        return compared(service, &*store, &before, &address);
    }
    let address = of(REPORT).ok_or_else(|| Refusal::unknown("there is no file of this name"))?;
    check(&*store, &address)?;
    let content = service.page(file, address.as_str(), || {
        Ok::<_, Refusal>(report::html(&[&store.open(&address)?], &options()))
    })?;
    Ok(Answer::kept_page(content))
}

/// A comparison of any two runs.
pub(crate) fn compare(service: &Service, request: &Request) -> Result<Answer, Refusal> {
    request.check_fields(&["base", "candidate"])?;
    let address = |name: &str| {
        request
            .field(name)
            .parse::<Address>()
            .map_err(|reason| Refusal::wrong(format!("'{name}' is not the address of a run: {reason}")))
    };
    let (base, candidate) = (address("base")?, address("candidate")?);
    if base == candidate {
        return Err(Refusal::wrong("a run cannot be compared with itself; choose two"));
    }
    let store = service.store()?;
    compared(service, &*store, &base, &candidate)
}

fn compared(
    service: &Service,
    store: &dyn Store,
    base: &Address,
    candidate: &Address,
) -> Result<Answer, Refusal> {
    check(store, base)?;
    check(store, candidate)?;
    let name = format!("{base} {candidate}");
    let content = service.page(&name, "", || {
        let runs: [Run; 2] = [store.open(base)?, store.open(candidate)?];
        Ok::<_, Refusal>(report::html(&[&runs[0], &runs[1]], &options()))
    })?;
    Ok(Answer::kept_page(content))
}

/// A page that was made before must not be shown after its run was deleted.
fn check(store: &dyn Store, address: &Address) -> Result<(), Refusal> {
    match store.has(address)? {
        true => Ok(()),
        false => Err(ArchiveError::Unknown(address.clone()).into()),
    }
}

/// The run before this one on the same board.
fn before(store: &dyn Store, address: &Address) -> Result<Address, Refusal> {
    let run = store.open(address)?;
    let machine = tardy_compare::overview::machine(&run);
    let of_board = store.find(&Query::of_machine(&machine))?;
    let at = of_board.iter().position(|(one, _)| one == address);
    let before = at.and_then(|at| at.checked_sub(1)).map(|at| of_board[at].0.clone());
    before.ok_or_else(|| Refusal::unknown("this is the first run of its board"))
}

/// The run file, compressed as in the archive.
pub(crate) fn run_file(store: &dyn Store, address: &Address) -> Result<Answer, Refusal> {
    let stored = store.get(address)?;
    let mut bytes = Vec::new();
    write_compressed(&stored.content, &stored.name, &mut bytes).expect("memory can be written");
    Ok(Answer::of("application/gzip", bytes))
}

/// Published results are shown next to runs, as in reports of the command line.
fn options() -> Options<'static> {
    Options { published: tardy_analyse::published::built_in(), ..Options::default() }
}
