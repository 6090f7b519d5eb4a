//! The log of ptp4l or phc2sys: what its lines state, and a file that is read as it grows.
//!
//! Every line has the time of CLOCK_MONOTONIC, which is also the clock of a run. Alternative not chosen: ptp4l's management
//! socket. It needs the rights of its directory and PTP's management messages, answers with the newest offset only, and has no
//! times of changes of state.

mod file;
mod line;

pub use file::PtpLog;
pub use line::{Line, Statement, parse};
