//! `tardy push`: pushes runs to an archive on another machine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tardy_args::PushArgs;
use tardy_plot::numbers::{counted, harmless};
use tardy_push::{Report, Spool, Target, Token, send_all};
use tardy_recipe::wrong;
use tardy_sys::files::caller;

use tardy_command::{Exit, file_tree, opened, output};

/// Where runs of root's boards wait.
const SPOOL_OF_ROOT: &str = "/var/lib/tardy/push";
/// The variable with the token.
const VARIABLE: &str = "TARDY_TOKEN";

/// The result of the command.
#[derive(Serialize)]
struct Pushed<'a> {
    target: String,
    spool: &'a Path,
    /// Runs that the target has on its disk.
    pushed: usize,
    /// Those of them that it had before.
    known: usize,
    /// Runs that wait, and why.
    waiting: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_because: Option<&'a str>,
    /// Runs that the target refuses.
    refused: Vec<Refused<'a>>,
}

#[derive(Serialize)]
struct Refused<'a> {
    run: &'a Path,
    reason: &'a str,
}

/// Puts runs into the spool, and pushes what waits there.
pub(crate) fn run(arguments: &PushArgs) -> Result<Exit> {
    let target: Target = arguments.target.parse().map_err(|error| wrong("URL", format!("{error}")))?;
    let spool = Spool::open(&spools(arguments)?, &target)
        .context("the spool cannot be used; name another directory with --spool")?;
    let all_spooled = add(&spool, &arguments.runs)?;
    // Whatever is wrong with the token, the runs wait.
    let token = token(arguments)?;
    let patience = arguments.wait.map_or(Duration::ZERO, |wait| Duration::from_nanos(wait.ns()));
    let report = send_all(&spool, &mut *target.sender(token), patience)?;
    print(&report, &target, spool.path(), arguments.json)?;
    let refused = spool.refused()?;
    if refused > report.refused.len() {
        output::report(&format!(
            "{} that the other side refused before: {}/*.refused",
            counted(refused as u64, "run", "runs"),
            spool.path().display()
        ));
    }
    let is_done = all_spooled && report.waiting == 0 && report.refused.is_empty();
    Ok(if is_done { Exit::Done } else { Exit::CouldNot })
}

/// The token, which is not an argument: others see those.
fn token(arguments: &PushArgs) -> Result<Option<Token>> {
    let text = match &arguments.token_file {
        Some(file) => {
            std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?
        }
        None => std::env::var(VARIABLE).unwrap_or_default(),
    };
    let token = text.lines().next().unwrap_or_default().trim();
    if token.chars().any(|c| !c.is_ascii_graphic()) {
        bail!(
            "the token has characters that no token has; expected the line that 'tardy archive token --make' printed"
        );
    }
    if let (true, Some(file)) = (token.is_empty(), &arguments.token_file) {
        bail!("{} is empty; its first line must be the token", file.display());
    }
    Ok((!token.is_empty()).then(|| Token(token.to_owned())))
}

/// The directory of all spools.
fn spools(arguments: &PushArgs) -> Result<PathBuf> {
    if let Some(spool) = &arguments.spool {
        return Ok(spool.clone());
    }
    if caller() == 0 {
        return Ok(PathBuf::from(SPOOL_OF_ROOT));
    }
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = || set("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    let state = set("XDG_STATE_HOME").map(PathBuf::from).or_else(home);
    let state = state.context("there is no home directory; name a directory with --spool")?;
    Ok(state.join("tardy/push"))
}

/// Puts runs into the spool. Returns whether all are.
fn add(spool: &Spool, runs: &[PathBuf]) -> Result<bool> {
    let mut all = true;
    for path in runs {
        for file in run_files(path)? {
            if let Err(error) = add_one(spool, &file) {
                output::report(&format!("{}: {}", file.display(), tardy_command::message(&error)));
                all = false;
            }
        }
    }
    Ok(all)
}

/// The file, or the run files in the directory.
fn run_files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let tree = file_tree::below(path).with_context(|| format!("cannot read {}", path.display()))?;
    // A damaged run file is reported, not left out.
    let is_one = |file: &PathBuf| {
        opened::is_run_file(file).unwrap_or(true) || file.to_string_lossy().ends_with(".run.json")
    };
    Ok(tree.files.into_iter().filter(is_one).collect())
}

fn add_one(spool: &Spool, path: &Path) -> Result<()> {
    let (name, content) = opened::content_of(path)?;
    spool.add(&name, &content)?;
    Ok(())
}

fn print(report: &Report, target: &Target, spool: &Path, json: bool) -> Result<()> {
    let known = report.sent.iter().filter(|(_, known)| *known).count();
    if json {
        let refused = report.refused.iter().map(|(_, run, reason)| Refused { run, reason });
        return output::print_json(&Pushed {
            target: target.to_string(),
            spool,
            pushed: report.sent.len(),
            known,
            waiting: report.waiting,
            waiting_because: report.waiting_because.as_deref(),
            refused: refused.collect(),
        });
    }
    for (_, run, reason) in &report.refused {
        output::report(&format!("{}: refused: {}", run.display(), harmless(reason)));
    }
    let runs = |count: usize| counted(count as u64, "run", "runs");
    if let Some(reason) = &report.waiting_because {
        output::report(&format!(
            "{} in {}: {}; the next 'tardy push' to the same address pushes them",
            match report.waiting {
                1 => "1 run waits".to_owned(),
                count => format!("{count} runs wait"),
            },
            spool.display(),
            harmless(reason)
        ));
    }
    let before = if known == 0 { String::new() } else { format!(", {known} of them there before") };
    output::report(&format!("{target}: {} pushed{before}", runs(report.sent.len())));
    Ok(())
}
