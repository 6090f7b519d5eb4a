//! `tardy gate --baseline`: runs against earlier runs, and the replacement of those by `--accept`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tardy_archive::{Query, sha256};
use tardy_gate::Outcome;
use tardy_gate::baseline::judge;
use tardy_gate::forms::{self, By, Judged};
use tardy_gate::incomplete;
use tardy_plot::numbers::{counted, harmless};
use tardy_recipe::wrong;
use tardy_record::Run;
use tardy_sys::files;

use super::super::runs_below;
use super::place;
use tardy_args::BaselineArgs;
use tardy_command::requirements::exit;
use tardy_command::{Exit, opened, origin, output};

/// The file in a baseline's directory that records each acceptance, one line of JSON each.
const RECORD: &str = "accepted.jsonl";

/// The judgement of `runs` against the baseline, if there is one. A baseline that is accepted for the first time is not judged.
pub(super) fn judged(arguments: &BaselineArgs, runs: &[Run], paths: &[PathBuf]) -> Result<Option<Judged>> {
    let is_first = arguments.accept.is_some() && arguments.baseline.iter().all(|path| !path.exists());
    let (Some(first), Some(path)) = (runs.first(), paths.first()) else { return Ok(None) };
    if arguments.baseline.is_empty() || is_first {
        return Ok(None);
    }
    let (base, left_out) = runs_below::each(&arguments.baseline, &Query::default(), |run, _| run.clone())?;
    if let Some(unreadable) = left_out.unreadable.first() {
        bail!("a run of the baseline cannot be read: {}", harmless(&unreadable.error));
    }
    let [base, candidate] = [&base[..], runs].map(|runs| runs.iter().collect::<Vec<_>>());
    let others = match paths.len() - 1 {
        0 => String::new(),
        n => format!(" and {}", counted(n as u64, "other", "others")),
    };
    Ok(Some(Judged {
        run: format!("{}{others}", place(path)),
        id: first.origin.id.clone(),
        kernel: first.facts.kernel.release.get().cloned().unwrap_or_default(),
        started_at: first.origin.started_at.clone(),
        incomplete: incomplete::of_runs(base.iter().chain(&candidate).copied()),
        by: By::Baseline(judge(&base, &candidate, &arguments.factor, arguments.margin)),
    }))
}

/// A directory that receives a new baseline.
pub(super) struct Accepted {
    directory: PathBuf,
    record: Record,
}

/// One acceptance.
#[derive(Serialize)]
struct Record {
    who: String,
    when: String,
    why: String,
    /// The outcome of the gate.
    outcome: Option<Outcome>,
    /// The runs that are the baseline now.
    runs: Vec<AcceptedRun>,
    /// The files that were the baseline, moved to `replaced_in`.
    replaced: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced_in: Option<String>,
}

/// A run of the new baseline.
#[derive(Serialize)]
struct AcceptedRun {
    /// The file in the baseline's directory.
    file: String,
    /// The id of the run.
    id: String,
    /// SHA-256 of the file, in hexadecimal.
    sha256: String,
}

impl Accepted {
    /// The directory, and who accepts why. `None` without `--accept`.
    ///
    /// # Errors
    /// If the baseline is not one directory, or if nobody or no reason is named.
    pub(super) fn claim(arguments: &BaselineArgs) -> Result<Option<Self>> {
        let Some(why) = &arguments.accept else { return Ok(None) };
        let [directory] = &arguments.baseline[..] else {
            return Err(wrong("accept", "the new baseline needs one directory: --baseline DIR").into());
        };
        if directory.exists() && !directory.is_dir() {
            let reason =
                format!("{} is not a directory; a baseline that is replaced is one", directory.display());
            return Err(wrong("accept", reason).into());
        }
        if why.trim().is_empty() {
            return Err(wrong("accept", "the reason is empty").into());
        }
        let user = || ["LOGNAME", "USER"].iter().find_map(|name| std::env::var(name).ok());
        let Some(who) = arguments.by.clone().or_else(user).filter(|who| !who.trim().is_empty()) else {
            return Err(wrong("by", "the user's name is unknown; give it").into());
        };
        let when = origin::rfc3339(SystemTime::now());
        let record = Record {
            who,
            when,
            why: why.clone(),
            outcome: None,
            runs: vec![],
            replaced: vec![],
            replaced_in: None,
        };
        Ok(Some(Self { directory: directory.clone(), record }))
    }

    /// Moves the former files away, copies `paths`, and records it. The exit status is that of what was required, since the former
    /// baseline is replaced deliberately. Runs that are invalid or fail a requirement are refused.
    pub(super) fn replace(mut self, paths: &[PathBuf], runs: &[Run], judged: &[Judged]) -> Result<Exit> {
        if let Some((_, path)) = runs.iter().zip(paths).find(|(run, _)| !run.validity.valid) {
            bail!("{} is invalid, so it cannot be a baseline; the baseline is unchanged", path.display());
        }
        let required = judged.iter().filter(|one| matches!(one.by, By::Requirement(_)));
        let required = Outcome::of_all(required.map(Judged::outcome));
        if matches!(required, Outcome::Failed | Outcome::Invalid) {
            output::report(
                "the runs do not meet --require, so they are not accepted; the baseline is unchanged. To accept them, leave that \
                 requirement out",
            );
            return Ok(exit(required));
        }
        let names = self.names(paths)?;
        files::make_directories(&self.directory)
            .with_context(|| format!("creating {}", self.directory.display()))?;
        self.move_former()?;
        if let Some(other) = names.iter().map(|name| self.directory.join(name)).find(|path| path.exists()) {
            bail!("{} exists and is not a run file; rename the run", other.display());
        }
        for ((path, name), run) in paths.iter().zip(&names).zip(runs) {
            let content = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
            let copy = self.directory.join(name);
            files::replace_own(&copy, 0o644, &content)
                .with_context(|| format!("writing {}", copy.display()))?;
            self.record.runs.push(AcceptedRun {
                file: name.to_string_lossy().into_owned(),
                id: run.origin.id.clone(),
                sha256: sha256(&content),
            });
        }
        self.record.outcome = Some(forms::outcome(judged));
        self.write_record()?;
        let accepted = counted(paths.len() as u64, "run", "runs");
        output::report(&format!("baseline {}: {accepted}", self.directory.display()));
        Ok(exit(required))
    }

    /// The names of the files in the directory.
    fn names(&self, paths: &[PathBuf]) -> Result<Vec<std::ffi::OsString>> {
        let mut names: Vec<std::ffi::OsString> = Vec::new();
        for path in paths {
            let name =
                path.file_name().with_context(|| format!("{} has no name", path.display()))?.to_owned();
            if path.parent().is_some_and(|parent| is_same(parent, &self.directory)) {
                bail!("{} is a run of the baseline already", path.display());
            }
            if names.contains(&name) {
                bail!("two runs are named {}; rename one, since both go to one directory", path.display());
            }
            names.push(name);
        }
        Ok(names)
    }

    /// Moves the run files of the directory to a directory next to it.
    fn move_former(&mut self) -> Result<()> {
        let entries = fs::read_dir(&self.directory).with_context(|| self.directory.display().to_string())?;
        let mut former: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
        former.retain(|path| path.is_file() && opened::is_run_file(path).unwrap_or(false));
        former.sort();
        if former.is_empty() {
            return Ok(());
        }
        let mut to = self.directory.as_os_str().to_owned();
        to.push(format!("-until-{}", origin::stamp(SystemTime::now())));
        let to = PathBuf::from(to);
        files::make_directories(&to).with_context(|| format!("creating {}", to.display()))?;
        for path in former {
            let name = path.file_name().unwrap_or_default();
            files::rename_own(&path, &to.join(name)).with_context(|| format!("moving {}", path.display()))?;
            self.record.replaced.push(name.to_string_lossy().into_owned());
        }
        output::report(&format!("the former baseline is in {}", to.display()));
        self.record.replaced_in = Some(to.display().to_string());
        Ok(())
    }

    /// Adds a line to the record of acceptances.
    fn write_record(&self) -> Result<()> {
        let path = self.directory.join(RECORD);
        let mut text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
        };
        text += &(serde_json::to_string(&self.record)? + "\n");
        files::replace_own(&path, 0o644, text.as_bytes())
            .with_context(|| format!("writing {}", path.display()))
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    let one = if one.as_os_str().is_empty() { Path::new(".") } else { one };
    one.canonicalize().ok().is_some_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}
