//! Mounts the kernel's virtual file systems, for a guest of the lab with tardy as its first program.

use std::ffi::CString;
use std::io;
use std::path::Path;

/// Mounts a virtual file system of type `kind` on `directory`, which is created if it does not exist.
///
/// # Errors
/// mkdir(2)'s and mount(2)'s: ENODEV if the kernel does not support the type, EPERM without CAP_SYS_ADMIN.
pub fn mount(kind: &str, directory: &Path) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
    let kind = text(kind.as_bytes())?;
    let place = text(directory.as_os_str().as_encoded_bytes())?;
    // SAFETY: both are valid C strings, and a null pointer is allowed for the data.
    let result = unsafe { libc::mount(kind.as_ptr(), place.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
