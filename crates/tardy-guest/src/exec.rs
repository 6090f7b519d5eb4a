//! Starts a program and watches it, as `tardy exec` does. The host shows and judges the run.

use std::path::PathBuf;

use tardy_attach::program::Program;
use tardy_attach::run;
use tardy_attach::session::{Listener, Request, Session, Status};
use tardy_attach::targets::Target;
use tardy_host::facts::{self, SystemAnswers};
use tardy_host::trace::tracefs::Tracefs;
use tardy_recipe::values::PositiveDuration;
use tardy_record::run::Origin;
use tardy_sys::files;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::signals::EndSignals;

use crate::measure::report;

/// Mode of the run file.
const MODE: u32 = 0o644;

/// What the words of the command say.
struct Orders {
    output: PathBuf,
    request: Request,
    command: Vec<String>,
}

impl Orders {
    /// `-o FILE [--warmup TIME] [--duration TIME] [--deadline TIME] [--limit TIME] [--buffer KIB] -- COMMAND`.
    fn of(words: &[&str]) -> Result<Self, String> {
        let place = words.iter().position(|word| *word == "--").ok_or("name a command after --")?;
        let (options, command) = (&words[..place], &words[place + 1..]);
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        let mut request = Request {
            id: "guest".to_owned(),
            named: command.join(" "),
            target: Target::Pid(0),
            warmup_ns: 1_000_000_000,
            duration_ns: None,
            deadline_ns: None,
            limit_ns: None,
            buffer_kib: None,
            late_ns: None,
            places: false,
        };
        let mut output = None;
        for pair in options.chunks(2) {
            let [name, value] = pair else { return Err(format!("{} has no value", pair.concat())) };
            let time = || value.parse::<PositiveDuration>().map(|time| time.ns());
            match *name {
                "-o" => output = Some(PathBuf::from(value)),
                "--warmup" => request.warmup_ns = time()?,
                "--duration" => request.duration_ns = Some(time()?),
                "--deadline" => request.deadline_ns = Some(time()?),
                "--limit" => request.limit_ns = Some(time()?),
                "--buffer" => {
                    request.buffer_kib =
                        Some(value.parse().map_err(|_| format!("'{value}' is not a number"))?);
                }
                _ => return Err(format!("'{name}' is not an option of exec")),
            }
        }
        Ok(Self { output: output.ok_or("-o is missing")?, request, command })
    }
}

/// Starts the command in `words` and writes the run file.
pub(crate) fn exec(words: &[&str]) -> Result<(), String> {
    let Orders { output, request, command } = Orders::of(words)?;
    let (program, arguments) = command.split_first().ok_or("name a command after --")?;
    let kernel_files = KernelFiles::real();
    let tracefs = Tracefs::find(&kernel_files)?;
    // Before anything is set up, which a signal would leave behind.
    let signals = EndSignals::catch().map_err(|error| error.to_string())?;
    let mut session = Session::set_up(request.clone(), &tracefs)?;
    let marker = session.marker();
    let mut program = session.start_program(|| {
        let program = Program::start(program, arguments, Some(&marker), &signals)?;
        let pid = program.pid();
        Ok((program, pid))
    })?;
    let watched = session.watch(&signals, &mut || program.has_ended(), &mut Silent)?;
    if let Some(end) = program.end()? {
        report(&end);
    }
    // An instance with an open trace_marker could not be removed.
    drop(session);
    let boot_id = kernel_files.text("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
    // The host adds its own name, the time and the command.
    let origin = Origin { id: "guest".to_owned(), boot_id, ..Origin::default() };
    let facts = facts::collect(&kernel_files, &SystemAnswers::ask());
    let run = run::of(&request, watched, origin, facts);
    files::replace_own(&output, MODE, tardy_record::file::to_text(&run).as_bytes())
        .map_err(|error| format!("{}: {error}", output.display()))
}

/// The host shows no progress of a guest.
struct Silent;

impl Listener for Silent {
    fn progress(&mut self, _status: &Status) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_tardy_exec() {
        let words =
            ["-o", "a.json", "--warmup", "2s", "--limit", "50us", "--", "./control", "--rate", "1000"];
        let orders = Orders::of(&words).unwrap();
        assert_eq!(orders.command, ["./control", "--rate", "1000"]);
        assert_eq!(orders.request.named, "./control --rate 1000");
        assert_eq!((orders.request.warmup_ns, orders.request.limit_ns), (2_000_000_000, Some(50_000)));
        for wrong in [&["-o", "a"][..], &["--", "a"], &["-o", "--", "a"], &["--rate", "1", "--", "a"]] {
            assert!(Orders::of(wrong).is_err(), "{wrong:?}");
        }
    }
}
