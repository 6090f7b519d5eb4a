//! Tests of tardy's command line, in one program, so that it is linked once. A test belongs in the file of its subject.
//! A user error is a line in `errors.rs`.

mod alerts;
mod archive;
mod articles;
mod attach;
mod bench;
mod bounds;
mod capabilities;
mod captures;
mod causes;
mod chains;
mod check_of_other_machines;
mod check_of_settings;
mod cyclictest;
mod directories;
mod doctor;
mod documents;
mod duration;
mod errors;
mod executables;
mod exit_status;
mod fleet;
mod formats;
mod full_disk;
mod gate;
mod history;
mod hostile_programs;
mod hostile_runs;
mod hostile_users;
mod killed;
mod levels;
mod live;
mod loads;
mod names;
mod noise;
mod output_forms;
mod pins;
mod pipeline;
mod places;
mod plots;
mod probe_program;
mod programs;
mod prune;
mod published;
mod push;
mod real_run;
mod recipes;
mod redact;
mod round_trip;
mod rt_tests;
mod run_files;
mod samples;
mod serve;
mod server;
mod server_killed;
mod share;
mod simulate;
mod strangers;
mod switch_test;
mod synthesize;
mod tails;
mod upset;
mod users_program;
mod versus;
mod watch;
mod wiggle;
mod xenomai;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// doload listens on one port of the machine: tests that run it take turns.
pub(crate) fn doload_is_mine() -> MutexGuard<'static, ()> {
    static DOLOAD: Mutex<()> = Mutex::new(());
    DOLOAD.lock().unwrap_or_else(PoisonError::into_inner)
}
