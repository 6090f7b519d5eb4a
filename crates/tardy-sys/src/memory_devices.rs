//! The memory devices of mem(4) and null(4), and the tmpfs for files that are shared between processes.

use std::fs::{File, OpenOptions};
use std::io;

/// The tmpfs that every Linux distribution mounts for shared memory (shm_overview(7)).
pub const SHARED_MEMORY: &str = "/dev/shm";

/// Opens /dev/zero for reading.
///
/// # Errors
/// The system's, with the path.
pub fn open_zero() -> io::Result<File> {
    File::open("/dev/zero").map_err(|error| io::Error::new(error.kind(), format!("/dev/zero: {error}")))
}

/// Opens /dev/null for writing.
///
/// # Errors
/// The system's, with the path.
pub fn open_null() -> io::Result<File> {
    let file = OpenOptions::new().write(true).open("/dev/null");
    file.map_err(|error| io::Error::new(error.kind(), format!("/dev/null: {error}")))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    #[test]
    fn zeros_come_from_one_device_and_go_into_the_other() {
        let mut block = [1; 64];
        super::open_zero().unwrap().read_exact(&mut block).unwrap();
        assert_eq!(block, [0; 64]);
        super::open_null().unwrap().write_all(&block).unwrap();
    }
}
