//! `tardy tsn synthesize`: when each flow is sent, and the gates for it.

mod input;
mod result;
mod text;

use std::time::Instant;

use anyhow::{Result, bail};
use tardy_synthesis::answer::{self, Answer, Mistake, Verdict};
use tardy_synthesis::instance::Instance;
use tardy_synthesis::solver::Options;

use crate::args::TsnSynthesizeArgs;
use crate::commands::output;
use crate::exit::Exit;
use input::Input;
use result::Outcome;

/// Schedules the flows, prints the result and writes the requested files.
pub(super) fn run(arguments: &TsnSynthesizeArgs) -> Result<Exit> {
    let input = Input::read(arguments)?;
    let files = input.claim(arguments)?;
    let instance = input.instance();
    if instance.flows.is_empty() {
        bail!("{} has no flow to schedule: add a flow with a period", input.name());
    }
    let begun = Instant::now();
    let is_over =
        || arguments.time_limit.is_some_and(|limit| begun.elapsed().as_nanos() >= u128::from(limit.ns()));
    let options = Options {
        effort: arguments.effort,
        seed: arguments.seed,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        is_over: &is_over,
    };
    let answer = answer::find(instance, &options, arguments.max_entries)
        .or_else(|mistake| bail!(describe(&mistake, instance)))?;
    let outcome = Outcome::of(instance, &answer, arguments, begun.elapsed());
    print(&outcome, &input, arguments)?;
    for (file, text) in files.iter().zip(input.output(&answer)?) {
        file.write(text.as_bytes())?;
        output::report(&format!("wrote {}", file.path().display()));
    }
    Ok(exit(&answer))
}

fn exit(answer: &Answer) -> Exit {
    match answer.verdict {
        Verdict::Scheduled => Exit::Done,
        Verdict::Infeasible(_) => Exit::Failed,
        Verdict::Undecided => Exit::Inconclusive,
    }
}

fn print(outcome: &Outcome, input: &Input, arguments: &TsnSynthesizeArgs) -> Result<()> {
    for remark in input.remarks() {
        output::report(remark);
    }
    if arguments.json {
        output::print_json(outcome)
    } else if arguments.csv {
        output::print_content(&outcome.csv())
    } else {
        output::print(&text::of(outcome, output::width()))
    }
}

/// A result that did not pass the check is not shown.
fn describe(mistake: &Mistake, instance: &Instance) -> String {
    let what = match mistake {
        Mistake::Schedule(faults) => {
            let faults: Vec<String> = faults.iter().map(|fault| fault.describe(instance)).collect();
            format!("the schedule that was found does not pass the check: {}", faults.join("; "))
        }
        Mistake::Proof(proof) => {
            format!("the proof that was found does not pass the check: {}", proof.describe(instance))
        }
    };
    format!("{what}. This is a mistake in tardy; report it with the input files")
}
