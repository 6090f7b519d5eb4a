//! Two groups of runs compared: for `tardy compare`, `report` and `plot` with `--base` and `--candidate`, and at the end of commands
//! that measure both in turn.

use anyhow::{Result, anyhow};
use tardy_compare::versus::{self, Factor, Options, Strength, Versus};
use tardy_present::versus as shown;
use tardy_recipe::wrong;
use tardy_record::Run;

use crate::{Exit, identity, output};
use tardy_args::{GroupArgs, RedactionFlag};

/// Two groups, compared.
pub struct Compared {
    /// All runs, those of the base first.
    pub runs: Vec<Run>,
    /// How they differ.
    pub versus: Versus,
}

impl Compared {
    /// Opens and compares both groups; `None` if none are given.
    pub fn of(arguments: &GroupArgs, redaction: RedactionFlag) -> Result<Option<Self>> {
        if arguments.base.is_empty() {
            return Ok(None);
        }
        let runs = output::open_runs(&arguments.paths(), redaction)?;
        let options =
            Options { factor: arguments.factor.clone(), limit_ns: arguments.limit.map(|limit| limit.ns()) };
        if let Some(reason) = runs.first().and_then(|run| options.factor.refused_by(run)) {
            return Err(wrong("factor", reason).into());
        }
        let mut base = runs;
        let candidate = base.split_off(arguments.base.len());
        Self::of_runs([base, candidate], &options).map(Some)
    }

    /// Compares the runs of a base and a candidate, in this order.
    pub fn of_runs([base, candidate]: [Vec<Run>; 2], options: &Options) -> Result<Self> {
        let of_groups = [&base, &candidate].map(|runs| runs.iter().collect::<Vec<_>>());
        let versus = versus::of(&of_groups[0], &of_groups[1], options).map_err(|reason| anyhow!(reason))?;
        Ok(Self { runs: base.into_iter().chain(candidate).collect(), versus })
    }

    /// Compares the boots of two kernels in the lab: their command lines, if they are of the same image.
    pub fn of_boots(groups: [Vec<Run>; 2]) -> Result<Self> {
        let image = |runs: &[Run]| runs.first()?.lab.as_ref().map(|lab| lab.kernel.sha256.clone());
        let is_same = image(&groups[0]) == image(&groups[1]);
        let factor = if is_same { Factor::CommandLine } else { Factor::Kernel };
        Self::of_runs(groups, &Options { factor, limit_ns: None })
    }

    /// Why the groups cannot be compared; `None` if they can.
    pub fn obstacle(&self) -> Option<String> {
        (self.versus.strength == Strength::NotComparable).then(|| shown::headline(&self.versus))
    }

    /// Prints several comparisons, as JSON in one list.
    pub fn print_all(all: &[Self], json: bool) -> Result<()> {
        if json && all.len() > 1 {
            let shown: Vec<_> = all.iter().map(Self::with_headline).collect();
            return output::print_json(&shown);
        }
        for (number, one) in all.iter().enumerate() {
            if number > 0 {
                output::print("\n")?;
            }
            one.print(json)?;
        }
        Ok(())
    }

    /// Prints the comparison.
    pub fn print(&self, json: bool) -> Result<Exit> {
        match json {
            true => output::print_json(&self.with_headline())?,
            false => output::print(&shown::text(&self.versus, self.in_rounds(), output::width()))?,
        }
        Ok(self.exit())
    }

    /// Whether both groups were measured in rounds.
    fn in_rounds(&self) -> bool {
        self.runs.iter().all(|run| run.origin.trial.is_some())
    }

    fn with_headline(&self) -> shown::WithHeadline<'_> {
        shown::WithHeadline::of(&self.versus, self.in_rounds())
    }

    /// A failure if the groups are not comparable, so that a script notices.
    pub fn exit(&self) -> Exit {
        if self.versus.strength == Strength::NotComparable { Exit::CouldNot } else { Exit::Done }
    }

    /// The comparison as a page.
    pub fn page(&self) -> String {
        shown::html(&self.versus, &self.runs.iter().collect::<Vec<_>>(), identity::get())
    }
}
