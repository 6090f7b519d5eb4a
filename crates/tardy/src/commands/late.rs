//! The options for what is late, of `watch` and `run`.

use tardy_args::LateFlags;
use tardy_watch::response::{Choice, Response};

/// The response to late wake-ups that the user chose.
pub(super) fn response(flags: &LateFlags) -> Response {
    Response::new(&Choice {
        command: flags.on_late.clone(),
        distance_ns: flags.on_late_distance.ns(),
        limit_ns: flags.on_late_timeout.ns(),
        stops: flags.stop_on_late,
    })
}
