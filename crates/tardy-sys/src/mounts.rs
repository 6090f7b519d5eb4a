//! Mounts the kernel's virtual file systems: for a guest of the lab with tardy as its first program, and for this process alone.

use std::ffi::CString;
use std::io;
use std::path::Path;

/// Mounts a virtual file system of type `kind` on `directory`, which is created if it does not exist.
///
/// # Errors
/// mkdir(2)'s and mount(2)'s: ENODEV if the kernel does not support the type, EPERM without CAP_SYS_ADMIN.
pub fn mount(kind: &str, directory: &Path) -> io::Result<()> {
    crate::files::make_directories(directory)?;
    let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
    let kind = text(kind.as_bytes())?;
    let place = text(directory.as_os_str().as_encoded_bytes())?;
    // SAFETY: both are valid C strings, and a null pointer is allowed for the data.
    let result = unsafe { libc::mount(kind.as_ptr(), place.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Mounts a virtual file system of type `kind` on `directory`, which exists, in a mount namespace of this thread and of the
/// processes that it starts from now on. Later mounts in the original namespace appear in this one, but not the reverse
/// (mount_namespaces(7)).
///
/// # Errors
/// EPERM without CAP_SYS_ADMIN; mount(2)'s.
pub fn mount_privately(kind: &str, directory: &Path) -> io::Result<()> {
    // SAFETY: unshare takes an integer.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let flags = libc::MS_REC | libc::MS_SLAVE;
    // SAFETY: a propagation change uses the target only, which is a valid C string.
    let status =
        unsafe { libc::mount(std::ptr::null(), c"/".as_ptr(), std::ptr::null(), flags, std::ptr::null()) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    mount(kind, directory)
}
