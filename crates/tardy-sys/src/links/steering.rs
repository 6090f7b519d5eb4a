//! Selects the queue of a tap device for each frame.
//!
//! By default a tap device selects the queue by flow and ignores the classes that a shaper assigns to its queues
//! (tun_select_queue() in drivers/net/tun.c). A small BPF program can replace the selection; here it returns a queue of
//! the frame's priority.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Neighbouring transmit queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueRange {
    /// The first queue.
    pub first: u16,
    /// The number of queues; 0 counts as 1.
    pub count: u16,
}

/// `struct bpf_insn`: code, registers, offset, immediate value.
#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    value: i32,
}

/// The part of `union bpf_attr` that is read when a program is loaded.
#[repr(C)]
struct Load {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
}

// include/uapi/linux/bpf.h and bpf_common.h.
const LOAD_WORD: u8 = 0x61;
/// Loads a byte of the frame into register 0; register 6 is the context. The program returns 0 if there is none.
const LOAD_FRAME_BYTE: u8 = 0x30;
const ADD: u8 = 0x07;
const AND: u8 = 0x57;
const MODULO: u8 = 0x97;
const MOVE: u8 = 0xb7;
const MOVE_REGISTER: u8 = 0xbf;
const JUMP_UNLESS_EQUAL: u8 = 0x55;
const EXIT: u8 = 0x95;
/// Loads register 0 from the address in register 1.
const R0_FROM_R1: u8 = 0x10;
/// Copies register 1 into register 6.
const R6_FROM_R1: u8 = 0x16;
/// The last byte of the source address in an Ethernet frame.
const SOURCE_END: i32 = 11;
/// `priority` of `struct __sk_buff`.
const PRIORITY_AT: i16 = 32;
const BPF_PROG_LOAD: libc::c_int = 5;
const SOCKET_FILTER: u32 = 1;

/// Makes the tap device of `tap` send frames of each of the 16 priorities over the given queues. Of several queues, the
/// last byte of the source address selects one.
///
/// # Errors
/// ENOSYS without CONFIG_BPF_SYSCALL, EPERM without CAP_BPF or CAP_NET_ADMIN, EINVAL before Linux 4.16.
pub(super) fn by_priority(tap: &impl AsRawFd, queues: [QueueRange; 16]) -> io::Result<()> {
    let program = program(queues);
    let load = Load {
        kind: SOCKET_FILTER,
        count: program.len() as u32,
        instructions: program.as_ptr() as u64,
        license: c"MIT".as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
    };
    // SAFETY: the kernel reads the attributes, the program and the license, which outlive the call.
    let fd = unsafe { libc::syscall(libc::SYS_bpf, BPF_PROG_LOAD, &raw const load, size_of::<Load>()) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just gave us this descriptor; the device takes its own reference.
    let fd = unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) };
    let number: libc::c_int = fd.as_raw_fd();
    // SAFETY: the kernel reads one int.
    if unsafe { libc::ioctl(tap.as_raw_fd(), libc::TUNSETSTEERINGEBPF as _, &raw const number) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// `let of = queues[priority & 15]; return of.first + source[5] % of.count`, as a sequence of comparisons.
fn program(queues: [QueueRange; 16]) -> Vec<Instruction> {
    let one =
        |code: u8, registers: u8, offset: i16, value: i32| Instruction { code, registers, offset, value };
    let exit = one(EXIT, 0, 0, 0);
    let mut program = vec![
        one(MOVE_REGISTER, R6_FROM_R1, 0, 0),
        one(LOAD_WORD, R0_FROM_R1, PRIORITY_AT, 0),
        one(AND, 0, 0, 15),
    ];
    for (priority, QueueRange { first, count }) in queues.into_iter().enumerate() {
        let first = i32::from(first);
        let chosen = match count {
            0 | 1 => vec![one(MOVE, 0, 0, first), exit],
            _ => vec![
                one(LOAD_FRAME_BYTE, 0, 0, SOURCE_END),
                one(MODULO, 0, 0, i32::from(count)),
                one(ADD, 0, 0, first),
                exit,
            ],
        };
        program.push(one(JUMP_UNLESS_EQUAL, 0, chosen.len() as i16, priority as i32));
        program.extend(chosen);
    }
    program.extend([one(MOVE, 0, 0, 0), exit]);
    program
}
