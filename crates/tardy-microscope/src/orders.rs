//! What the observer in the emulator watches for: addresses and offsets of one kernel.
//!
//! The observer knows of the kernel only what is written here. Its side is emulator/observer/orders.c.

use std::fmt::Write;

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSegment};
use thiserror::Error;

use crate::kallsyms::{NoSymbols, Symbols};
use crate::structures::{Structures, Unknown};

/// The virtual address of the first byte of memory, without address randomisation (Documentation/arch/x86/x86_64/mm.rst).
const DIRECT_MAP: u64 = 0xffff_8880_0000_0000;
/// Virtual minus physical address of the kernel's image.
const IMAGE_MAP: u64 = 0xffff_ffff_8000_0000;

/// How many instructions are kept from before a timer was due: 0.2 ms, in which interrupts that are off were turned off.
const KEPT_BEFORE: u64 = 100_000;

/// Why a kernel cannot be watched.
#[derive(Debug, Error)]
pub enum Unwatchable {
    /// Its image is not an ELF file that could be unpacked.
    #[error(
        "the kernel's image cannot be unpacked here; if an earlier tardy fetched it, remove it from the cache and run again"
    )]
    Image,
    /// It has no symbols.
    #[error(transparent)]
    Symbols(#[from] NoSymbols),
    /// It is of a version whose structures are not known.
    #[error(transparent)]
    Unknown(#[from] Unknown),
}

/// The virtual address of the byte at an index of the file; `None` if it is not loaded.
fn loaded_at(file: &ElfFile64<'_>, index: u64) -> Option<u64> {
    file.segments().find_map(|segment| {
        let (start, length) = segment.file_range();
        let inside = index.checked_sub(start)?;
        (inside < length).then(|| segment.address().wrapping_add(inside))
    })
}

/// One kernel's symbols and structures.
pub struct KernelImage {
    /// Its symbols.
    pub symbols: Symbols,
    pub(crate) structures: Structures,
}

impl KernelImage {
    /// Reads an uncompressed image.
    ///
    /// # Errors
    /// If it has no symbols or no type information.
    pub fn of(image: &[u8]) -> Result<Self, Unwatchable> {
        let file = ElfFile64::<Endianness>::parse(image).map_err(|_| Unwatchable::Image)?;
        let types =
            file.section_by_name(".BTF").and_then(|section| section.data().ok()).ok_or(Unknown::Types)?;
        let loaded_at = |index: usize| loaded_at(&file, index as u64);
        Ok(Self { symbols: Symbols::of(image, loaded_at)?, structures: Structures::of(types)? })
    }

    /// The orders for a guest with that much memory. `is_counted`: whether sections with interrupts or preemption off are. `of_program`:
    /// wake-ups are those of a program that was watched, and last from the time that it requested to the return to it.
    ///
    /// # Errors
    /// If this kernel lacks one of the symbols or members that they name.
    pub fn orders(
        &self,
        memory_bytes: u64,
        is_counted: bool,
        of_program: bool,
    ) -> Result<String, Unwatchable> {
        let symbol = |name| self.symbols.address(name).ok_or(Unknown::Symbol(name));
        let offset = |structure, path| self.structures.offset(structure, path);
        let current = match self.symbols.address("current_task") {
            Some(address) => address,
            None => symbol("pcpu_hot")? + offset("pcpu_hot", "current_task")?,
        };
        let timekeeper = match self.structures.has("tk_data") {
            true => offset("tk_data", "timekeeper")?,
            // The structure has no name before Linux 6.13. The timekeeper follows this counter, which holds a pointer in RT kernels.
            false => self.structures.size("seqcount_raw_spinlock").unwrap_or(4).next_multiple_of(8),
        };
        // The kernel may wake later than at the requested time, by the timer's slack.
        let expires = if of_program { "_softexpires" } else { "node.expires" };
        let mut text = String::new();
        for (name, value) in [
            ("ram_bytes", memory_bytes),
            ("before", KEPT_BEFORE),
            ("memory", 1),
            ("census", u64::from(is_counted)),
            ("direct_map", DIRECT_MAP),
            ("page_tables", self.page_tables()?),
            ("cpu_offset", symbol("__per_cpu_offset")?),
            ("current", current),
            ("preempt_count", self.preempt_count()?),
            ("scheduler_wanted", self.scheduler_wanted()?),
            ("hard_interrupt", self.hard_interrupt_bits()),
            ("rq_clock", symbol("runqueues")? + offset("rq", "clock")?),
            ("cyc2ns", symbol("cyc2ns")?),
            ("sched_clock_offset", symbol("__sched_clock_offset")?),
            ("hrtimer_bases", symbol("hrtimer_bases")? + offset("hrtimer_cpu_base", "clock_base")?),
            ("clock_base_size", self.structures.size("hrtimer_clock_base")?),
            ("clock_base_running", offset("hrtimer_clock_base", "running")?),
            ("timer_expires", offset("hrtimer", expires)?),
            ("timer_function", offset("hrtimer", "function")?),
            ("sleeper_task", offset("hrtimer_sleeper", "task")?),
            ("task_name", offset("task_struct", "comm")?),
            ("task_pid", offset("task_struct", "pid")?),
            ("timekeeper", self.timekeepers()? + timekeeper + offset("timekeeper", "tkr_mono")?),
            ("tk_cycle_last", offset("tk_read_base", "cycle_last")?),
            ("tk_mult", offset("tk_read_base", "mult")?),
            ("tk_shift", offset("tk_read_base", "shift")?),
            ("tk_xtime_nsec", offset("tk_read_base", "xtime_nsec")?),
            ("tk_base", offset("tk_read_base", "base")?),
            ("hrtimer_wakeup", symbol("hrtimer_wakeup")?),
            ("switch_to", symbol("__switch_to_asm")?),
            ("system_call", symbol("entry_SYSCALL_64")?),
        ] {
            let _ = writeln!(text, "{name} {value:x}");
        }
        if of_program {
            let state = offset("task_struct", "__state").or_else(|_| offset("task_struct", "state"))?;
            text += &format!("to_user 1\ntask_state {state:x}\n");
            // Without what one kind of timer needs, only wake-ups by that kind are not observed.
            let kinds =
                [self.of_timerfd(), self.of_poll(), self.of_epoll(), self.of_signals(), self.of_deadlines()];
            for orders in kinds.into_iter().flatten() {
                orders.iter().for_each(|(name, value)| text += &format!("{name} {value:x}\n"));
            }
        }
        // Without it, only the time that programming the timer takes is not known.
        for (name, function) in
            [("program_timer", "lapic_next_event"), ("hrtimer_interrupt", "hrtimer_interrupt")]
        {
            if let Some(address) = self.symbols.address(function) {
                let _ = writeln!(text, "{name} {address:x}");
            }
        }
        for entry in self.entries()? {
            let kind = if entry.is_exception { "exception" } else { "interrupt" };
            let _ = writeln!(text, "{kind} {:x} {:x}", entry.from, entry.to);
        }
        for (from, to) in self.functions_for_callers() {
            let _ = writeln!(text, "for_caller {from:x} {to:x}");
        }
        Ok(text)
    }

    /// What is needed to find the thread that reads a timerfd.
    fn of_timerfd(&self) -> Result<Vec<(&'static str, u64)>, Unknown> {
        let offset = |structure, path| self.structures.offset(structure, path);
        Ok(vec![
            ("timerfd_function", self.address("timerfd_tmrproc")?),
            ("timerfd_timer", offset("timerfd_ctx", "t.tmr")?),
            ("timerfd_waiters", offset("timerfd_ctx", "wqh.head")?),
            ("waiter_task", offset("wait_queue_entry", "private")?),
            ("waiter_entry", offset("wait_queue_entry", "entry")?),
            ("waiter_function", offset("wait_queue_entry", "func")?),
            ("timerfd_poll", self.address("timerfd_poll")?),
        ])
    }

    /// The same for one that waits for it in poll(2) or select(2).
    fn of_poll(&self) -> Result<Vec<(&'static str, u64)>, Unknown> {
        Ok(vec![
            ("poll_function", self.address("pollwake")?),
            ("poll_task", self.structures.offset("poll_wqueues", "polling_task")?),
        ])
    }

    /// The same for one that waits for it in epoll_wait(2).
    fn of_epoll(&self) -> Result<Vec<(&'static str, u64)>, Unknown> {
        let offset = |structure, path| self.structures.offset(structure, path);
        Ok(vec![
            ("epoll_function", self.address("ep_poll_callback")?),
            ("epoll_entry", offset("eppoll_entry", "wait")?),
            ("epoll_item", offset("eppoll_entry", "base")?),
            ("epoll_of_item", offset("epitem", "ep")?),
            ("epoll_waiters", offset("eventpoll", "wq.head")?),
        ])
    }

    /// The same for a thread that waits for the signal of a timer.
    fn of_signals(&self) -> Result<Vec<(&'static str, u64)>, Unknown> {
        let offset = |structure, path| self.structures.offset(structure, path);
        Ok(vec![
            ("signal_function", self.address("posix_timer_fn")?),
            ("signal_timer", offset("k_itimer", "it.real.timer")?),
            ("signal_process", offset("k_itimer", "it_signal")?),
            ("signal_pending", offset("k_itimer", "sigq")?),
            // Since 6.13 it is not apart.
            ("signal_is_apart", u64::from(offset("k_itimer", "sigq.info").is_err())),
            ("signal_number", offset("sigqueue", "info.si_signo")?),
            ("process_threads", offset("signal_struct", "thread_head")?),
            ("thread_node", offset("task_struct", "thread_node")?),
            ("thread_blocked", offset("task_struct", "blocked")?),
            ("thread_real_blocked", offset("task_struct", "real_blocked")?),
        ])
    }

    /// The same for a thread of SCHED_DEADLINE that waits for its next period.
    fn of_deadlines(&self) -> Result<Vec<(&'static str, u64)>, Unknown> {
        Ok(vec![
            ("deadline_function", self.address("dl_task_timer")?),
            ("deadline_timer", self.structures.offset("task_struct", "dl.dl_timer")?),
            ("deadline_yielded", self.structures.bit("task_struct", "dl.dl_yielded")?),
        ])
    }

    /// The address of a symbol.
    ///
    /// # Errors
    /// If there is none.
    pub fn address(&self, name: &'static str) -> Result<u64, Unknown> {
        self.symbols.address(name).ok_or(Unknown::Symbol(name))
    }

    /// The address of the timekeeper of the monotonic clock, the first of several since 6.17 (kernel/time/timekeeping.c).
    fn timekeepers(&self) -> Result<u64, Unknown> {
        self.symbols.address("timekeeper_data").map_or_else(|| self.address("tk_core"), Ok)
    }

    /// The offset of the preemption count in the variables of each CPU.
    pub(crate) fn preempt_count(&self) -> Result<u64, Unknown> {
        match self.symbols.address("__preempt_count") {
            Some(address) => Ok(address),
            None => Ok(self.address("pcpu_hot")? + self.structures.offset("pcpu_hot", "preempt_count")?),
        }
    }

    /// Whether the preemption count has 64 bits, as on 64-bit processors since 7.3 (include/linux/preempt.h).
    fn has_long_count(&self) -> bool {
        self.structures.variable_bytes("__preempt_count") == Some(8)
    }

    /// The offset of the word whose highest bit says that the scheduler is not wanted.
    fn scheduler_wanted(&self) -> Result<u64, Unknown> {
        Ok(self.preempt_count()? + if self.has_long_count() { 4 } else { 0 })
    }

    /// The bits of the preemption count that are set in interrupts and NMIs. Those below count `local_interrupt_disable` since 7.3.
    fn hard_interrupt_bits(&self) -> u64 {
        if self.has_long_count() { 0xff00_0000 } else { 0x00ff_0000 }
    }

    /// The physical address of the kernel's page tables.
    ///
    /// # Errors
    /// If there is no symbol for them.
    pub fn page_tables(&self) -> Result<u64, Unknown> {
        Ok(self.address("init_top_pgt")? - IMAGE_MAP)
    }

    fn functions_for_callers(&self) -> impl Iterator<Item = (u64, u64)> {
        let functions = self.symbols.functions();
        let pairs = functions.iter().zip(functions.iter().skip(1));
        pairs.filter(|((_, name), _)| turns_off_for_caller(name)).map(|((from, _), (to, _))| (*from, *to))
    }

    /// Where interrupts and exceptions begin: the functions that the kernel's macros make (arch/x86/include/asm/idtentry.h), and the
    /// rows of stubs for the vectors of devices.
    ///
    /// # Errors
    /// If this kernel has no such rows.
    pub fn entries(&self) -> Result<Vec<Entry>, Unknown> {
        let symbol = |name| self.symbols.address(name).ok_or(Unknown::Symbol(name));
        let mut entries = Vec::new();
        for (from, name) in self.symbols.functions() {
            let is_exception = name.starts_with("asm_exc_");
            if is_exception || name.starts_with("asm_sysvec_") {
                entries.push(Entry { from: *from, to: from + 1, is_exception });
            }
        }
        entries.dedup_by_key(|entry| entry.from);
        let (devices, spurious) = (symbol("irq_entries_start")?, symbol("spurious_entries_start")?);
        let next = entries
            .iter()
            .map(|entry| entry.from)
            .filter(|from| *from > spurious)
            .min()
            .unwrap_or(spurious + 1);
        entries.push(Entry { from: devices.min(spurious), to: next, is_exception: false });
        entries.sort_unstable_by_key(|entry| entry.from);
        Ok(entries)
    }
}

/// Whether a function turns interrupts or preemption off or on for its caller, so that the caller is of interest.
pub(crate) fn turns_off_for_caller(name: &str) -> bool {
    ["_raw_spin_", "_raw_read_", "_raw_write_", "__local_bh_", "preempt_count_add", "preempt_count_sub"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// Addresses at which an interrupt or exception begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The first.
    pub from: u64,
    /// After the last.
    pub to: u64,
    /// Whether it is an exception: caused by the instruction to which it returns.
    pub is_exception: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timekeeper_is_the_first_of_several_since_6_17() {
        let timekeepers = |names: &[(&str, u64)]| {
            let symbols = names.iter().map(|(name, address)| (format!("d{name}"), *address));
            let symbols = Symbols::from_all(symbols.collect::<Vec<_>>().into_iter());
            KernelImage { symbols, structures: Structures::default() }.timekeepers()
        };
        assert_eq!(timekeepers(&[("tk_core", 0x40)]).unwrap(), 0x40);
        assert_eq!(timekeepers(&[("timekeeper_data", 0x80)]).unwrap(), 0x80);
        assert!(timekeepers(&[("jiffies", 0x80)]).is_err());
    }
}
