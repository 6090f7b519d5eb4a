//! Scheduling policy, priority and CPU affinity of the calling thread (sched(7)).

use std::{fmt, io};

/// A scheduling policy with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// SCHED_OTHER.
    Other,
    /// SCHED_FIFO with a priority from 1 to 99.
    Fifo(u32),
    /// SCHED_RR with a priority from 1 to 99.
    Rr(u32),
    /// SCHED_DEADLINE: runtime and period in ns; the deadline is the end of the period.
    Deadline {
        /// CPU time in each period.
        runtime_ns: u64,
        /// The period.
        period_ns: u64,
    },
}

/// `struct sched_attr` as of Linux 3.14 (include/uapi/linux/sched/types.h).
#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Sets the calling thread's policy with sched_setattr(2).
///
/// # Errors
/// EPERM without the privilege; EBUSY if SCHED_DEADLINE has no bandwidth left, or the thread is pinned to fewer CPUs
/// than its root domain has; EINVAL for parameters out of range.
pub fn set(scheduling: Scheduling) -> io::Result<()> {
    set_of(0, scheduling)
}

/// Sets the policy of the thread with this id, 0 for the calling one.
///
/// # Errors
/// As for [`set`]; ESRCH if there is no such thread.
pub fn set_of(thread: u32, scheduling: Scheduling) -> io::Result<()> {
    let (policy, priority, runtime, period) = match scheduling {
        Scheduling::Other => (libc::SCHED_OTHER, 0, 0, 0),
        Scheduling::Fifo(priority) => (libc::SCHED_FIFO, priority, 0, 0),
        Scheduling::Rr(priority) => (libc::SCHED_RR, priority, 0, 0),
        Scheduling::Deadline { runtime_ns, period_ns } => (libc::SCHED_DEADLINE, 0, runtime_ns, period_ns),
    };
    if runtime == 0 {
        // The older call is for kernels before 3.14, such as those of the AT91SAM boards.
        #[allow(clippy::needless_update, reason = "musl has further fields")]
        let parameter = libc::sched_param { sched_priority: priority as i32, ..zeroed_parameter() };
        // SAFETY: `parameter` is a valid sched_param; the kernel looks the thread up by its id.
        return result(unsafe {
            libc::syscall(libc::SYS_sched_setscheduler, thread, policy, &raw const parameter)
        });
    }
    let attributes = SchedAttr {
        size: size_of::<SchedAttr>() as u32,
        policy: policy as u32,
        priority,
        runtime,
        deadline: period,
        period,
        ..Default::default()
    };
    // SAFETY: `attributes` is a valid sched_attr of the size that it states; the kernel looks the thread up by its id.
    result(unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw const attributes, 0) })
}

/// The policy and the priority of a thread, as the kernel reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InForce {
    /// The kernel's number of the policy (include/uapi/linux/sched.h).
    pub policy: u32,
    /// Real-time priority from 1 to 99; 0 if the policy has none.
    pub priority: u32,
}

impl InForce {
    /// Both in one number, from 1 on.
    #[must_use]
    pub fn to_cell(self) -> u64 {
        (u64::from(self.policy) << 32 | u64::from(self.priority)) + 1
    }

    /// The reverse of [`Self::to_cell`]; `None` for 0.
    #[must_use]
    pub fn of_cell(cell: u64) -> Option<Self> {
        let both = cell.checked_sub(1)?;
        Some(Self { policy: (both >> 32) as u32, priority: both as u32 })
    }
}

impl fmt::Display for InForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.policy as i32 {
            libc::SCHED_OTHER => f.write_str("SCHED_OTHER")?,
            libc::SCHED_FIFO => f.write_str("SCHED_FIFO")?,
            libc::SCHED_RR => f.write_str("SCHED_RR")?,
            libc::SCHED_BATCH => f.write_str("SCHED_BATCH")?,
            libc::SCHED_IDLE => f.write_str("SCHED_IDLE")?,
            libc::SCHED_DEADLINE => f.write_str("SCHED_DEADLINE")?,
            other => write!(f, "policy {other}")?,
        }
        if self.priority > 0 { write!(f, " {}", self.priority) } else { Ok(()) }
    }
}

/// The policy and the priority of the thread with this id, 0 for the calling one.
///
/// # Errors
/// ESRCH if there is no such thread.
pub fn in_force(thread: u32) -> io::Result<InForce> {
    // SAFETY: no pointers; the kernel looks the thread up by its id.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, thread) };
    let mut parameter = zeroed_parameter();
    // SAFETY: `parameter` is a valid sched_param to write to.
    result(unsafe { libc::syscall(libc::SYS_sched_getparam, thread, &raw mut parameter) })?;
    if policy < 0 {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    // SCHED_RESET_ON_FORK is a flag among the policies.
    let policy = policy as u32 & !(libc::SCHED_RESET_ON_FORK as u32);
    Ok(InForce { policy, priority: parameter.sched_priority.max(0) as u32 })
}

/// Whether the calling thread's policy is SCHED_OTHER.
#[must_use]
pub fn is_other() -> bool {
    // SAFETY: no pointers; 0 is the calling thread.
    unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) == libc::c_long::from(libc::SCHED_OTHER) }
}

fn zeroed_parameter() -> libc::sched_param {
    // SAFETY: sched_param consists of integers, for which zero is valid.
    unsafe { std::mem::zeroed() }
}

fn result(status: libc::c_long) -> io::Result<()> {
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The largest supported CPU number, plus one.
pub const CPU_COUNT_MAX: usize = 8192;
type CpuMask = [u64; CPU_COUNT_MAX / 64];

/// Pins the calling thread to `cpus`.
///
/// # Errors
/// EINVAL if none of them is online or allowed by the thread's cpuset.
pub fn set_affinity(cpus: &[u32]) -> io::Result<()> {
    let mut mask: CpuMask = [0; CPU_COUNT_MAX / 64];
    for cpu in cpus {
        let word =
            mask.get_mut(*cpu as usize / 64).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        *word |= 1 << (cpu % 64);
    }
    let mask = native_words(mask);
    // SAFETY: `mask` is readable for the size given; pid 0 is the calling thread.
    result(unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of::<CpuMask>(), mask.as_ptr()) })
}

/// Lets the calling thread run on every CPU that its cpuset allows.
pub fn set_affinity_to_all() -> io::Result<()> {
    set_affinity(&(0..CPU_COUNT_MAX as u32).collect::<Vec<_>>())
}

/// The CPUs that the calling thread may run on, in ascending order.
pub fn affinity() -> io::Result<Vec<u32>> {
    affinity_of(0)
}

/// The CPUs that the thread with this id may run on, in ascending order; 0 for the calling thread.
///
/// # Errors
/// ESRCH if there is no such thread.
pub fn affinity_of(thread: u32) -> io::Result<Vec<u32>> {
    let mut mask: CpuMask = [0; CPU_COUNT_MAX / 64];
    // SAFETY: `mask` is writable for the size given; the kernel looks the thread up by its id.
    let written = unsafe {
        libc::syscall(libc::SYS_sched_getaffinity, thread, size_of::<CpuMask>(), mask.as_mut_ptr())
    };
    if written < 0 {
        return Err(io::Error::last_os_error());
    }
    let mask = native_words(mask);
    let is_set = |cpu: &u32| mask[*cpu as usize / 64] >> (cpu % 64) & 1 == 1;
    Ok((0..CPU_COUNT_MAX as u32).filter(is_set).collect())
}

/// The kernel's masks are arrays of `unsigned long`; on a 32-bit big-endian machine the halves are swapped.
fn native_words(mask: CpuMask) -> CpuMask {
    if cfg!(all(target_endian = "big", target_pointer_width = "32")) {
        return mask.map(|word| word.rotate_left(32));
    }
    mask
}

/// The calling thread's id (gettid(2)), in this process's pid namespace.
pub fn thread_id() -> u32 {
    // SAFETY: gettid takes nothing and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Yields the CPU (sched_yield(2)); for a SCHED_DEADLINE thread, until its next period.
#[inline(always)]
pub fn yield_now() {
    // SAFETY: sched_yield takes nothing and touches no memory.
    unsafe { libc::sched_yield() };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn affinity_can_be_narrowed_and_read_back() {
        std::thread::spawn(|| {
            let all = affinity().unwrap();
            set_affinity(&all[..1]).unwrap();
            assert_eq!(affinity().unwrap(), all[..1]);
            assert!(set_affinity(&[8191]).is_err());
            assert!(set_affinity(&[100_000]).is_err());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_policy_and_its_priority_fit_into_a_cell() {
        let fifo = InForce { policy: libc::SCHED_FIFO as u32, priority: 90 };
        assert_eq!(InForce::of_cell(fifo.to_cell()), Some(fifo));
        assert_eq!(
            InForce::of_cell(InForce { policy: 0, priority: 0 }.to_cell()).map(|one| one.policy),
            Some(0)
        );
        assert_eq!(InForce::of_cell(0), None);
        assert_eq!(fifo.to_string(), "SCHED_FIFO 90");
    }

    #[test]
    fn every_user_may_set_sched_other() {
        set(Scheduling::Other).unwrap();
        let other = in_force(thread_id()).unwrap();
        assert_eq!((other.to_string().as_str(), in_force(0).unwrap()), ("SCHED_OTHER", other));
        assert_eq!(in_force(i32::MAX as u32).unwrap_err().raw_os_error(), Some(libc::ESRCH));
        set_of(thread_id(), Scheduling::Other).unwrap();
        assert_eq!(set_of(i32::MAX as u32, Scheduling::Other).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
