//! Loads kernel modules, for a guest of the lab.

use std::ffi::CString;
use std::io;

/// Loads a module from its uncompressed image with init_module(2), with `parameters` as passed by modprobe(8). A
/// module that is already loaded is a success.
///
/// # Errors
/// init_module(2)'s: ENOEXEC for another kernel's module, ENOENT for a symbol that no module provides, EPERM without
/// CAP_SYS_MODULE.
pub fn load(image: &[u8], parameters: &str) -> io::Result<()> {
    let parameters = CString::new(parameters).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: the image is readable for its length, the parameters are a valid C string.
    let result = unsafe {
        libc::syscall(
            libc::SYS_init_module,
            image.as_ptr(),
            image.len() as libc::c_ulong,
            parameters.as_ptr(),
        )
    };
    let error = io::Error::last_os_error();
    if result == 0 || error.raw_os_error() == Some(libc::EEXIST) { Ok(()) } else { Err(error) }
}
