//! Reading runs, boards and metrics, and deleting a run.

use axum::http::StatusCode;
use serde::Serialize;
use tardy_alert::State;
use tardy_analyse::judgement::Judgement;
use tardy_archive::{Action, Address, ArchiveError, Entry};
use tardy_compare::overview::OverviewRow;
use tardy_site::archive as site;

use super::OPENAPI;
use crate::answer::{Answer, Refusal};
use crate::metrics;
use crate::pages::{runs, search};
use crate::request::Request;
use crate::service::Service;
use crate::sharing::locked;

/// Runs in an answer, unless another number is asked for.
const LIMIT: usize = 100;
/// The most runs in an answer.
const LIMIT_MAX: usize = 1000;

/// A run in a list.
#[derive(Serialize)]
struct ListedRun {
    address: Address,
    /// Where its report is, relative to the first page.
    report: String,
    board: String,
    preemption: Option<&'static str>,
    limit_ns: Option<u64>,
    verdict: Judgement,
    causes: Vec<String>,
    #[serde(flatten)]
    row: OverviewRow,
}

impl From<(Address, Entry)> for ListedRun {
    fn from((address, entry): (Address, Entry)) -> Self {
        Self {
            report: site::report_path(&address),
            address,
            board: entry.machine,
            preemption: entry.preemption.map(tardy_record::facts::Preemption::name),
            limit_ns: entry.limit_ns,
            verdict: entry.judgement,
            causes: entry.causes,
            row: entry.row,
        }
    }
}

/// A page of runs.
#[derive(Serialize)]
struct ListedRuns {
    /// How many runs the archive has for this search.
    total: u64,
    /// Those of this page, the newest first.
    runs: Vec<ListedRun>,
    /// What to ask for next as `after`; absent if there are no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Address>,
}

/// A board.
#[derive(Serialize)]
struct ListedBoard {
    board: String,
    /// Where its page is, relative to the first page.
    page: String,
    runs: u64,
    newest: ListedRun,
    /// Its newest change, as a sentence.
    change: Option<String>,
}

/// The runs that a search finds.
pub(crate) fn list(service: &Service, request: &Request) -> Result<Answer, Refusal> {
    let known: Vec<&str> = search::FIELDS.into_iter().chain(["page_size"]).collect();
    request.check_fields(&known)?;
    let query = search::query(&search::asked(request)).map_err(Refusal::wrong)?;
    let after = search::after(request).map_err(Refusal::wrong)?;
    let limit = match request.field("page_size") {
        "" => LIMIT,
        text => text.parse().ok().filter(|limit| (1..=LIMIT_MAX).contains(limit)).ok_or_else(|| {
            Refusal::wrong(format!("page_size: '{text}' is not a number from 1 to {LIMIT_MAX}"))
        })?,
    };
    let store = service.store()?;
    let runs = store.page(&query, after.as_ref(), limit)?;
    let next = runs.last().filter(|_| runs.len() == limit).map(|(address, _)| address.clone());
    let total = store.count(&query)?;
    Ok(Answer::json(&ListedRuns { total, runs: runs.into_iter().map(ListedRun::from).collect(), next }))
}

/// All boards with their newest run.
pub(crate) fn boards(service: &Service, request: &Request) -> Result<Answer, Refusal> {
    request.check_fields(&[])?;
    let boards = service.store()?.boards()?;
    let newest: Vec<Address> = boards.iter().map(|board| board.newest.0.clone()).collect();
    let listed =
        service.changes.summaries(boards).into_iter().zip(newest).map(|(board, address)| ListedBoard {
            page: site::board_path(&board.newest.machine),
            board: board.newest.machine.clone(),
            runs: board.runs as u64,
            newest: (address, board.newest).into(),
            change: board.change,
        });
    Ok(Answer::json(&listed.collect::<Vec<_>>()))
}

/// A run file.
pub(crate) fn run(service: &Service, request: &Request) -> Result<Answer, Refusal> {
    runs::run_file(&*service.store()?, &address(request)?)
}

/// Deletes a run.
pub(crate) fn delete(service: &Service, request: &Request) -> Result<Answer, Refusal> {
    let address = address(request)?;
    let mut store = service.store()?;
    // A damaged run can be deleted too.
    if !store.has(&address)? {
        return Err(ArchiveError::Unknown(address).into());
    }
    // Who deleted it is known before it is gone.
    service.note(&request.who, Action::Deleted, address.as_str(), "")?;
    store.remove(&address)?;
    service.news.tell();
    Ok(Answer::of("application/json", Vec::new()).with_status(StatusCode::NO_CONTENT))
}

fn address(request: &Request) -> Result<Address, Refusal> {
    let parsed = request.part("address").parse();
    parsed.map_err(|reason| {
        Refusal::wrong(format!("the path does not end with the address of a run: {reason}"))
    })
}

/// Numbers for Prometheus.
pub(crate) fn metrics(service: &Service, _: &Request) -> Result<Answer, Refusal> {
    let boards = service.store()?.boards()?;
    let alerts = State::ALL.map(|state| (state, locked(&service.alerts).count(state)));
    Ok(Answer::of(metrics::CONTENT_TYPE, service.metrics.text(&boards, &alerts).into_bytes()))
}

/// The description of the interface.
pub(crate) fn openapi(_: &Service, _: &Request) -> Result<Answer, Refusal> {
    Ok(Answer::of("application/json", OPENAPI.as_bytes().to_vec()))
}
