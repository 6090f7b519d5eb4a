//! The kernel's message log (syslog(2), as shown by `dmesg`).

use std::io;

/// Reads all messages in the log without removing them.
///
/// Needs CAP_SYSLOG if kernel.dmesg_restrict is 1.
pub fn read_all() -> io::Result<String> {
    const READ_ALL: libc::c_int = 3;
    const SIZE: libc::c_int = 10;
    // SAFETY: asking for the size takes no pointer.
    let size = unsafe { libc::klogctl(SIZE, std::ptr::null_mut(), 0) };
    // If the size is not available, the largest common ring (CONFIG_LOG_BUF_SHIFT=20) is assumed.
    let size = if size > 0 { size } else { 1 << 20 };
    let mut buffer = vec![0u8; size as usize];
    // SAFETY: the pointer is to `size` writable bytes.
    let length = unsafe { libc::klogctl(READ_ALL, buffer.as_mut_ptr().cast(), size) };
    if length < 0 {
        return Err(io::Error::last_os_error());
    }
    buffer.truncate(length as usize);
    Ok(String::from_utf8_lossy(&buffer).into_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_log_is_text_or_refused() {
        match super::read_all() {
            Ok(log) => assert!(log.lines().count() < 10_000_000),
            Err(error) => assert!(error.raw_os_error().is_some()),
        }
    }
}
