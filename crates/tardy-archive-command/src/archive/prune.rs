//! `tardy archive prune`: deletes runs by a rule.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use serde::Serialize;
use tardy_archive::{Action, Address, Audit, AuditLine, Entry, Query, Store};
use tardy_args::ArchivePruneArgs;
use tardy_plot::numbers::{counted, harmless};

use crate::stores;
use tardy_command::{Exit, origin, output};

const SECONDS_OF_A_DAY: u64 = 24 * 60 * 60;
/// Characters of a day at the beginning of a time.
const DAY_LENGTH: usize = 10;

/// A run that is deleted, or would be.
#[derive(Serialize)]
struct Pruned<'a> {
    run: &'a Address,
    name: &'a str,
    board: &'a str,
    started_at: &'a str,
}

/// Lists or deletes the runs that the rule names.
pub(super) fn run(arguments: &ArchivePruneArgs) -> Result<Exit> {
    let mut archive = match arguments.yes {
        true => stores::to_add(&arguments.archive)?,
        false => stores::to_read(&arguments.archive)?,
    };
    let named = named(&*archive, arguments)?;
    if arguments.yes {
        let audit = Audit::open(&stores::records(&arguments.archive))?;
        delete(&mut *archive, audit, &named, &rule(arguments))?;
    }
    if arguments.json {
        let pruned = named.iter().map(|(address, entry)| Pruned {
            run: address,
            name: &entry.row.name,
            board: &entry.machine,
            started_at: &entry.row.started_at,
        });
        output::print_json(&pruned.collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    for (address, entry) in &named {
        let words = [&entry.row.started_at, &entry.machine, &entry.row.name].map(|text| harmless(text));
        output::print_data(&format!("{address}  {}\n", words.join("  ")))?;
    }
    let runs = counted(named.len() as u64, "run", "runs");
    output::report(&match arguments.yes {
        true => format!("archive {}: {runs} deleted", arguments.archive.display()),
        false => {
            format!("archive {}: {runs} would be deleted; add --yes to do it", arguments.archive.display())
        }
    });
    Ok(Exit::Done)
}

/// The runs that the rule names, the oldest first.
fn named(archive: &dyn Store, arguments: &ArchivePruneArgs) -> Result<Vec<(Address, Entry)>> {
    let mut kept = BTreeSet::new();
    if let Some(count) = arguments.keep_newest {
        for board in archive.boards()? {
            let newest = archive.page(&Query::of_machine(&board.machine), None, count)?;
            kept.extend(newest.into_iter().map(|(address, _)| address));
        }
    }
    let before = arguments.older_than.map(days_ago);
    let is_old =
        |entry: &Entry| before.as_deref().is_none_or(|before| entry.day().is_some_and(|day| day < before));
    let found = archive.find(&arguments.query.query())?;
    Ok(found.into_iter().filter(|(address, entry)| !kept.contains(address) && is_old(entry)).collect())
}

/// The day that many days ago, as in 2026-11-26. Before 1970 there are no runs: an empty day, which no day precedes.
fn days_ago(days: u32) -> String {
    let age = Duration::from_secs(u64::from(days) * SECONDS_OF_A_DAY);
    let time = SystemTime::now().checked_sub(age).filter(|time| *time >= SystemTime::UNIX_EPOCH);
    time.map(|time| origin::rfc3339(time)[..DAY_LENGTH].to_owned()).unwrap_or_default()
}

/// The rule in words, for the audit log.
fn rule(arguments: &ArchivePruneArgs) -> String {
    let given = std::env::args().skip_while(|word| word != "prune").skip(1);
    let archive = arguments.archive.display().to_string();
    let words: Vec<String> =
        given.filter(|word| *word != archive && word != "--yes" && word != "--json").collect();
    format!("prune {}", harmless(&words.join(" ")))
}

/// Deletes runs. Each is in the audit log before it is gone.
fn delete(archive: &mut dyn Store, mut audit: Audit, runs: &[(Address, Entry)], rule: &str) -> Result<()> {
    let at = origin::rfc3339(SystemTime::now());
    let line = |(address, _): &(Address, Entry)| AuditLine {
        at: at.clone(),
        who: super::user(),
        action: Action::Deleted,
        subject: address.to_string(),
        detail: rule.to_owned(),
    };
    audit.add(&runs.iter().map(line).collect::<Vec<_>>())?;
    for (address, _) in runs {
        archive.remove(address)?;
    }
    Ok(())
}
