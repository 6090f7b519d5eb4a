//! uname(2).

use std::ffi::CStr;
use std::io;

/// The name and version of the kernel (uname(2)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uname {
    /// `uname -r`, such as `6.12.43+deb13-rt-amd64`.
    pub release: String,
    /// `uname -v`, such as `#1 SMP PREEMPT_RT Debian 6.12.43-1`.
    pub version: String,
    /// `uname -m`, such as `x86_64` or `armv7l`.
    pub machine: String,
}

/// Reads the name and version of the kernel.
pub fn uname() -> io::Result<Uname> {
    // SAFETY: utsname consists of byte arrays, for which all zeros is a value.
    let mut answer: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live utsname, which the call fills in.
    if unsafe { libc::uname(&raw mut answer) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Uname {
        release: text(&answer.release),
        version: text(&answer.version),
        machine: text(&answer.machine),
    })
}

/// A C string in an array; the whole array if it has no end. Characters are unsigned on some targets only.
#[allow(clippy::unnecessary_cast)]
fn text(field: &[libc::c_char]) -> String {
    let bytes: Vec<u8> = field.iter().map(|c| *c as u8).collect();
    match CStr::from_bytes_until_nul(&bytes) {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_kernel_has_a_name() {
        let name = super::uname().unwrap();
        assert!(name.release.starts_with(|c: char| c.is_ascii_digit()), "{name:?}");
        assert!(!name.machine.is_empty() && !name.version.is_empty(), "{name:?}");
    }
}
