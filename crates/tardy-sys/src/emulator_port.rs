//! The emulator's output channel in a guest: bytes to a file on the host, and the end of the machine with a status.
//!
//! Both are synchronous: the emulated CPU does not run until the bytes are written, so the host's timing does not
//! affect the guest. On x86 they are QEMU's isa-debugcon and isa-debug-exit, reached from user space with ioperm(2) and
//! string output; on arm64 semihosting, a trap instruction with a request in two registers (Arm's "Semihosting for
//! AArch32 and AArch64"). Alternatives not taken: virtio-serial, whose interrupts depend on the host's timing, and the
//! console, which the kernel writes to as well.
//!
//! Outside the lab these instructions have a different effect or none. [`EmulatorPort::open`] therefore succeeds only
//! in the first process of a guest.

use std::io;

/// The output channel. Only the first process of a machine gets one.
#[derive(Debug)]
pub struct EmulatorPort {
    #[cfg(target_arch = "aarch64")]
    handle: u64,
}

impl EmulatorPort {
    /// Opens the channel.
    ///
    /// # Errors
    /// In any process but the first; on other processors than x86-64 and arm64; without permission to use I/O ports.
    pub fn open() -> io::Result<Self> {
        if std::process::id() != 1 {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "only the first process of a lab guest can open the emulator's port",
            ));
        }
        way_out::open()
    }
}

impl io::Write for EmulatorPort {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        way_out::write(self, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(target_arch = "x86_64")]
mod way_out {
    use super::EmulatorPort;
    use std::arch::asm;
    use std::io;

    /// isa-debugcon's port, as the lab configures it: the traditional port of Bochs.
    const OUT: u16 = 0xe9;
    /// isa-debug-exit's port, as the lab configures it.
    const EXIT: u16 = 0x501;

    pub(super) fn open() -> io::Result<EmulatorPort> {
        for (port, count) in [(OUT, 1), (EXIT, 2)] {
            // SAFETY: ioperm(2) takes integers only.
            if unsafe { libc::ioperm(libc::c_ulong::from(port), count, 1) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(EmulatorPort {})
    }

    pub(super) fn write(_port: &EmulatorPort, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the bytes are readable for their length, the direction flag is clear by the ABI, and ioperm was
        // granted when the port was opened. The instruction writes no memory.
        unsafe {
            asm!(
                "rep outsb",
                in("dx") OUT,
                inout("rsi") bytes.as_ptr() => _,
                inout("rcx") bytes.len() => _,
                options(nostack, preserves_flags, readonly)
            );
        }
        Ok(bytes.len())
    }

    pub(super) fn exit(_port: &EmulatorPort, status: u8) {
        // SAFETY: ioperm was granted when the port was opened; the emulator ends.
        unsafe {
            asm!("out dx, al", in("dx") EXIT, in("al") status, options(nomem, nostack, preserves_flags))
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod way_out {
    use super::EmulatorPort;
    use std::arch::asm;
    use std::io;

    const SYS_OPEN: u64 = 0x01;
    const SYS_WRITE: u64 = 0x05;
    const SYS_EXIT: u64 = 0x18;
    /// The mode "w".
    const WRITE: u64 = 4;
    /// ADP_Stopped_ApplicationExit: the second word of the block is the status.
    const APPLICATION_EXIT: u64 = 0x2_0026;
    /// Bytes per request: QEMU locks a buffer of that size.
    const CHUNK_BYTES: usize = 4096;

    fn call(operation: u64, block: &[u64; 3]) -> u64 {
        let mut result = operation;
        // SAFETY: HLT 0xF000 is semihosting's trap. The emulator reads the block, which is on the stack and therefore
        // mapped, and the memory that it points to.
        unsafe {
            asm!("hlt #0xf000", inout("x0") result, in("x1") block.as_ptr(), options(nostack));
        }
        result
    }

    pub(super) fn open() -> io::Result<EmulatorPort> {
        // The semihosting console, which the lab connects to a channel; no file of the host is named.
        let name = b":tt\0";
        let handle = call(SYS_OPEN, &[name.as_ptr() as u64, WRITE, name.len() as u64 - 1]);
        if handle == u64::MAX { Err(io::ErrorKind::NotFound.into()) } else { Ok(EmulatorPort { handle }) }
    }

    pub(super) fn write(port: &EmulatorPort, bytes: &[u8]) -> io::Result<usize> {
        let now = &bytes[..bytes.len().min(CHUNK_BYTES)];
        let left = call(SYS_WRITE, &[port.handle, now.as_ptr() as u64, now.len() as u64]) as usize;
        if left > now.len() || (left == now.len() && left > 0) {
            return Err(io::ErrorKind::WriteZero.into());
        }
        Ok(now.len() - left)
    }

    pub(super) fn exit(_port: &EmulatorPort, status: u8) {
        call(SYS_EXIT, &[APPLICATION_EXIT, u64::from(status), 0]);
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod way_out {
    use super::EmulatorPort;
    use std::io;

    pub(super) fn open() -> io::Result<EmulatorPort> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn write(_port: &EmulatorPort, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn exit(_port: &EmulatorPort, _status: u8) {}
}

impl EmulatorPort {
    /// Ends the machine at once. QEMU exits with `2 * status + 1` on x86 and with `status` on arm64.
    ///
    /// Returns only if there is no such device; a guest then ends in another way.
    pub fn end_machine(&self, status: u8) {
        way_out::exit(self, status);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_process_cannot_open_the_ports() {
        assert_eq!(EmulatorPort::open().unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}
