//! One line of /proc/PID/stat (proc_pid_stat(5)).

/// The fields that tardy uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessStat<'line> {
    /// The command name; it may contain any character.
    pub name: &'line str,
    /// The parent's process id.
    pub parent: u32,
    /// PF_… flags.
    pub flags: u64,
    /// User plus system time, in clock ticks of 10 ms.
    pub ticks: u64,
    /// Start time in clock ticks after boot; together with the id it identifies the process.
    pub start: u64,
    /// Real-time priority; 0 if the policy has none.
    pub priority: u32,
    /// SCHED_… number.
    pub policy: u32,
}

/// The flag of kernel threads; user processes cannot have it.
const PF_KTHREAD: u64 = 0x0020_0000;

impl<'line> ProcessStat<'line> {
    /// Parses the line; `None` if it is malformed. The name ends at the last parenthesis, since it may contain others.
    pub fn parse(line: &'line str) -> Option<Self> {
        let (_, after) = line.split_once('(')?;
        let (name, rest) = after.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // Fields are numbered from 1 in proc(5); the first after the name is field 3.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            name,
            parent: field(4)?.try_into().ok()?,
            flags: field(9)?,
            ticks: field(14)?.checked_add(field(15)?)?,
            start: field(22)?,
            priority: field(40)?.try_into().ok()?,
            policy: field(41)?.try_into().ok()?,
        })
    }

    /// Whether it is a kernel thread.
    pub fn is_kernel_thread(&self) -> bool {
        self.flags & PF_KTHREAD != 0
    }

    /// The policy's name in sched(7).
    pub fn policy_name(&self) -> &'static str {
        match self.policy {
            0 => "other",
            1 => "fifo",
            2 => "rr",
            3 => "batch",
            5 => "idle",
            6 => "deadline",
            7 => "ext",
            _ => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_contain_any_character() {
        let line = "39 (irq/39-dwc) (otg) S 2 0 0 0 -1 2129984 0 0 0 0 7 350 0 0 -51 0 1 0 88 0 0 \
            4294967295 0 0 0 0 0 0 0 2147483647 0 0 0 0 17 0 50 1 0 0 0";
        let stat = ProcessStat::parse(line).unwrap();
        assert_eq!((stat.name, stat.parent, stat.ticks, stat.start), ("irq/39-dwc) (otg", 2, 357, 88));
        assert_eq!((stat.priority, stat.policy_name()), (50, "fifo"));
        assert!(stat.is_kernel_thread());
        for garbage in ["", "1 (", "1 (a) S", ") (", "1 (a) S x y z"] {
            assert_eq!(ProcessStat::parse(garbage), None);
        }
    }
}
