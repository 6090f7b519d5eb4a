//! The first page, boards, kernels, published results.

use tardy_archive::{KernelVersion, Query};
use tardy_compare::{difference, history};
use tardy_site::archive::{self as site, Board, KnownRun};

use crate::answer::{Answer, Refusal};
use crate::boards::digest;
use crate::request::Request;
use crate::service::Service;

/// The first page.
pub(crate) fn overview(service: &Service, _: &Request) -> Result<Answer, Refusal> {
    let store = service.store()?;
    let boards = store.boards()?;
    let runs: u64 = boards.iter().map(|board| board.runs).sum();
    let mut kernels: Vec<String> = store.kernels()?.into_iter().map(|(release, _)| release).collect();
    kernels.sort_by_key(|release| (KernelVersion::of_release(release), release.clone()));
    let summaries = service.changes.summaries(boards);
    Ok(Answer::page(site::overview(&summaries, &kernels, runs as usize, &service.about())))
}

/// The page of a board.
pub(crate) fn board(service: &Service, request: &Request) -> Result<Answer, Refusal> {
    let path = format!("boards/{}", request.part("file"));
    let store = service.store()?;
    let found = store.boards()?.into_iter().find(|board| site::board_path(&board.machine) == path);
    let board = found.ok_or_else(|| Refusal::unknown("there is no board of this name"))?;
    let content = service.page(&path, &digest(&board), || -> Result<String, Refusal> {
        let runs = store.find(&Query::of_machine(&board.machine))?;
        let entries = runs.iter().map(|(_, entry)| entry.history.clone()).collect();
        let mut history = history::of(entries, history::MOST_P, history::LEAST_CHANGE);
        history.explain(|before, after| {
            let open = |file: &str| {
                let run = runs.iter().find(|(_, entry)| entry.row.file == file);
                let (address, _) = run.ok_or_else(|| Refusal::unknown("a run was deleted"))?;
                store.open(address).map_err(Refusal::from)
            };
            Ok::<_, Refusal>(difference::between(&open(&before.file)?, &open(&after.file)?))
        })?;
        let known =
            |(at, (address, entry))| KnownRun { address, entry, has_report: true, has_comparison: at > 0 };
        let runs = runs.into_iter().enumerate().map(known).collect();
        let shown = Board { name: board.machine.clone(), runs, history };
        Ok(site::board(&shown, &service.about()).content)
    })?;
    Ok(Answer::kept_page(content))
}

/// The page of a kernel.
pub(crate) fn kernel(service: &Service, request: &Request) -> Result<Answer, Refusal> {
    let path = format!("kernels/{}", request.part("file"));
    let store = service.store()?;
    let found =
        store.kernels()?.into_iter().map(|(release, _)| release).find(|one| site::kernel_path(one) == path);
    let release = found.ok_or_else(|| Refusal::unknown("there is no kernel of this name"))?;
    let runs = store.find(&Query { release: Some(release.clone()), ..Query::default() })?;
    let known = |(address, entry)| KnownRun { address, entry, has_report: true, has_comparison: false };
    let runs: Vec<KnownRun> = runs.into_iter().map(known).collect();
    Ok(Answer::page(site::kernel(&release, &runs.iter().collect::<Vec<_>>(), &service.about())))
}

/// The published results.
pub(crate) fn published(service: &Service, _: &Request) -> Result<Answer, Refusal> {
    Ok(Answer::page(site::published(&service.about())))
}
