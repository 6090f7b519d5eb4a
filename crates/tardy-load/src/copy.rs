//! A copy from /dev/zero to /dev/null, like `dd if=/dev/zero of=/dev/null`.
//!
//! The block size is 512 bytes, dd's default (dd(1), `bs`), as in the article's script. Most of the load is system
//! calls, two per block; it uses little memory bandwidth.

use std::io::{Read, Write};

use tardy_sys::memory_devices;

use super::messages::Message;
use super::worker::{Ended, Worker};

/// dd's default block size.
const BLOCK_BYTES: usize = 512;

pub(super) fn run(worker: &Worker) -> Ended {
    let mut zero = memory_devices::open_zero().map_err(|error| error.to_string())?;
    let mut null = memory_devices::open_null().map_err(|error| error.to_string())?;
    let copied = &worker.counters()[0];
    let mut block = [0; BLOCK_BYTES];
    let mut copy_block = || {
        let read = zero.read(&mut block).map_err(|error| format!("/dev/zero: {error}"))?;
        null.write_all(&block[..read]).map_err(|error| format!("/dev/null: {error}"))?;
        copied.add(read as u64);
        Ok::<(), String>(())
    };
    copy_block()?;
    worker.send(&Message::Running);
    loop {
        copy_block()?;
    }
}
