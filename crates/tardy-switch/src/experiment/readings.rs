//! Reads the state of the clock's synchronisation.

use tardy_record::Knowable;
use tardy_record::switch::Ptp;
use tardy_sys::{clock_discipline, processes};

/// Whether ptp4l and phc2sys run, whether the kernel considers its clock synchronised, and its estimated error.
pub(super) fn ptp() -> Ptp {
    let running = commands();
    let runs = |name: &str| running.as_ref().map(|all| all.iter().any(|command| command == name));
    let clock = clock_discipline::read().ok();
    Ptp {
        ptp4l: runs("ptp4l").into(),
        phc2sys: runs("phc2sys").into(),
        synchronised: clock.map(|clock| clock.synchronised).into(),
        estimated_error_us: clock
            .map_or(Knowable::Unknown, |clock| Knowable::Known(clock.estimated_error_us)),
    }
}

/// The command names of all processes; `None` if /proc cannot be listed.
fn commands() -> Option<Vec<String>> {
    Some(processes::all().ok()?.into_iter().filter_map(processes::command_of).collect())
}
