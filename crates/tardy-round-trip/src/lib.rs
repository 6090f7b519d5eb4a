//! Round trips over a network at a period, split by the kernel's time stamps, and the peer that returns them.
//!
//! [`message`] is the content of requests and answers, [`frame`] puts it into the packets of each protocol; [`exchange`] opens the
//! sockets; [`thread`] sends and receives; [`recorder`] makes series; [`reflect`] is the peer; [`link_settings`] finds
//! settings of a link that cost latency.

#![forbid(unsafe_code)]

pub mod exchange;
pub mod frame;
pub mod link_settings;
pub mod message;
pub mod recorder;
pub mod reflect;
pub mod thread;
