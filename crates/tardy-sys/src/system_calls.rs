//! Names of system calls by their numbers on this processor.

/// Calls with a name on every processor: those that programs wait in, or that are slow.
macro_rules! table {
    ($($(#[$when:meta])? $constant:ident $name:literal,)*) => {
        /// The name of the system call with this number, if it is one that programs wait in.
        pub fn name(number: i64) -> Option<&'static str> {
            $($(#[$when])? if number == i64::from(libc::$constant) { return Some($name); })*
            None
        }

        /// The number of the system call with this name, if it is one that programs wait in.
        pub fn number(name: &str) -> Option<i64> {
            $($(#[$when])? if name == $name { return Some(i64::from(libc::$constant)); })*
            None
        }
    };
}

table! {
    SYS_read "read",
    SYS_write "write",
    SYS_readv "readv",
    SYS_writev "writev",
    SYS_pread64 "pread64",
    SYS_pwrite64 "pwrite64",
    SYS_close "close",
    SYS_openat "openat",
    SYS_fsync "fsync",
    SYS_fdatasync "fdatasync",
    SYS_sync "sync",
    SYS_ioctl "ioctl",
    SYS_flock "flock",
    SYS_fallocate "fallocate",
    SYS_ftruncate "ftruncate",
    SYS_sendfile "sendfile",
    #[cfg(not(target_arch = "arm"))]
    SYS_mmap "mmap",
    #[cfg(target_arch = "arm")]
    SYS_mmap2 "mmap",
    SYS_munmap "munmap",
    SYS_mremap "mremap",
    SYS_mprotect "mprotect",
    SYS_madvise "madvise",
    SYS_mlock "mlock",
    SYS_mlockall "mlockall",
    SYS_brk "brk",
    SYS_msync "msync",
    SYS_futex "futex",
    SYS_nanosleep "nanosleep",
    SYS_clock_nanosleep "clock_nanosleep",
    SYS_sched_yield "sched_yield",
    SYS_ppoll "ppoll",
    SYS_pselect6 "pselect6",
    SYS_epoll_pwait "epoll_pwait",
    SYS_timerfd_settime "timerfd_settime",
    SYS_timer_settime "timer_settime",
    SYS_setitimer "setitimer",
    SYS_rt_sigtimedwait "rt_sigtimedwait",
    SYS_rt_sigsuspend "rt_sigsuspend",
    SYS_wait4 "wait4",
    SYS_waitid "waitid",
    SYS_sendto "sendto",
    SYS_recvfrom "recvfrom",
    SYS_sendmsg "sendmsg",
    SYS_sendmmsg "sendmmsg",
    SYS_recvmsg "recvmsg",
    SYS_recvmmsg "recvmmsg",
    SYS_connect "connect",
    SYS_accept4 "accept4",
    SYS_io_uring_enter "io_uring_enter",
    SYS_clone "clone",
    SYS_clone3 "clone3",
    SYS_execve "execve",
    SYS_exit_group "exit_group",
    SYS_clock_gettime "clock_gettime",
    SYS_restart_syscall "restart_syscall",
    #[cfg(target_arch = "x86_64")]
    SYS_poll "poll",
    #[cfg(target_arch = "x86_64")]
    SYS_select "select",
    #[cfg(target_arch = "x86_64")]
    SYS_epoll_wait "epoll_wait",
    #[cfg(target_arch = "x86_64")]
    SYS_pause "pause",
    #[cfg(target_arch = "x86_64")]
    SYS_open "open",
    #[cfg(target_arch = "x86_64")]
    SYS_fork "fork",
}

/// Whether this is clock_nanosleep(2), whose second argument has flags and whose first is a clock.
pub fn is_clock_nanosleep(number: i64) -> bool {
    name(number) == Some("clock_nanosleep")
}

/// The operation of futex(2) with this second argument, without its options; `None` for other calls.
pub fn futex_operation(number: i64, argument: u64) -> Option<Futex> {
    /// FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME.
    const OPTIONS: u64 = 128 | 256;
    if name(number) != Some("futex") {
        return None;
    }
    Some(match (argument & !OPTIONS) as i32 {
        libc::FUTEX_WAIT => Futex::Wait,
        libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAIT_REQUEUE_PI => Futex::WaitUntil,
        libc::FUTEX_LOCK_PI | libc::FUTEX_LOCK_PI2 => Futex::LockWithInheritance,
        _ => Futex::Other,
    })
}

/// Whether this call is a wait of futex(2) with an absolute time.
pub fn is_futex_until(number: i64, argument: u64) -> bool {
    futex_operation(number, argument) == Some(Futex::WaitUntil)
}

/// The operations of futex(2) that a thread waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Futex {
    /// FUTEX_WAIT, in which the C libraries wait for a mutex without priority inheritance.
    Wait,
    /// FUTEX_WAIT_BITSET and FUTEX_WAIT_REQUEUE_PI, for condition variables and semaphores; the time is absolute.
    WaitUntil,
    /// FUTEX_LOCK_PI, for a mutex with priority inheritance.
    LockWithInheritance,
    /// One that does not wait.
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_named_and_operations_found() {
        let [futex, read] = [libc::SYS_futex, libc::SYS_read].map(i64::from);
        assert_eq!(name(futex), Some("futex"));
        assert_eq!(name(-1), None);
        assert_eq!(number("futex").and_then(name), Some("futex"));
        assert_eq!(futex_operation(futex, 128), Some(Futex::Wait));
        assert_eq!(futex_operation(futex, 128 | 9), Some(Futex::WaitUntil));
        assert_eq!(futex_operation(read, 0), None);
    }
}
