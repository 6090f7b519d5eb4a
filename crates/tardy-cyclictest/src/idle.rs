//! `--deepest-idle-state`: the exit latency of an idle state, which tardy holds through /dev/cpu_dma_latency. Unlike the files of
//! sysfs that rt-tests changes, the kernel resets it when the process ends, and it applies to all CPUs.

use tardy_sys::kernel_files::KernelFiles;

/// The longest exit latency of the states 0 to `deepest` of `cpu`, in us; 0 for -1, which permits none. `None` if the CPU has no
/// deeper state, so that there is nothing to limit.
pub fn limit_us(files: &KernelFiles, cpu: u32, deepest: i32) -> Option<u32> {
    let place = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
    let number = |name: &String| name.strip_prefix("state")?.parse::<i32>().ok();
    let states: Vec<i32> = files.names(&place).unwrap_or_default().iter().filter_map(number).collect();
    if !states.iter().any(|state| *state > deepest) {
        return None;
    }
    let permitted = states.iter().filter(|state| **state <= deepest);
    let latency = |state: &i32| files.number::<u32>(&format!("{place}/state{state}/latency")).ok();
    Some(permitted.filter_map(latency).max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_exit_latency_of_the_deepest_permitted_state() {
        let root = tempfile::tempdir().unwrap();
        for (state, latency_us) in [0, 2, 10, 133].into_iter().enumerate() {
            let place = root.path().join(format!("sys/devices/system/cpu/cpu0/cpuidle/state{state}"));
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join("latency"), format!("{latency_us}\n")).unwrap();
        }
        let limit = |cpu, deepest| limit_us(&KernelFiles::under(root.path()), cpu, deepest);
        assert_eq!([-1, 0, 1, 2].map(|deepest| limit(0, deepest)), [Some(0), Some(0), Some(2), Some(10)]);
        assert_eq!((limit(0, 3), limit(0, 9)), (None, None), "nothing is deeper");
        assert_eq!(limit(1, -1), None, "no idle states");
    }
}
