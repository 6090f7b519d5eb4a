use super::*;

const MS: u32 = 1_000_000;

fn order(entries: &[(u32, u32)]) -> KernelOrder {
    KernelOrder {
        entries: entries.iter().map(|one| GateEntry::set(one.0, one.1)).collect(),
        cycle_ns: None,
        extension_ns: 0,
        base_ns: 0,
        classes: 2,
        speed_mbps: Some(100),
        overhead: 24,
        max_sdu: [0; CLASSES_MAX],
    }
}

fn running(order: &KernelOrder) -> KernelSchedule {
    KernelSchedule::installed(order, 0).unwrap()
}

/// The number of frames of `charged_bytes` that a class sends between `from_ns` and `to_ns` if the device takes them
/// at once.
fn passed(schedule: &mut KernelSchedule, class: u8, charged_bytes: u32, from_ns: u64, to_ns: u64) -> u32 {
    let mut frames = 0;
    let mut now_ns = from_ns;
    while now_ns < to_ns {
        schedule.advance(now_ns);
        let open = |schedule: &KernelSchedule| schedule.mask() >> class & 1 == 1;
        while open(schedule) && schedule.ask(class, charged_bytes, now_ns) == Verdict::Pass && frames < 1000 {
            frames += 1;
        }
        now_ns = schedule.next_change_ns();
    }
    frames
}

#[test]
fn a_millisecond_at_100_megabit_passes_8_full_frames() {
    let mut schedule = running(&order(&[(1, MS), (2, MS)]));
    assert_eq!(passed(&mut schedule, 0, 1538, 0, 2_000_000), 8);
    assert_eq!(passed(&mut schedule, 1, 1538, 2_000_000, 4_000_000), 8);
}

#[test]
fn a_window_in_two_entries_passes_12_frames() {
    let mut schedule = running(&order(&[(1, MS / 2), (3, MS / 2), (2, MS)]));
    assert_eq!(passed(&mut schedule, 0, 1538, 0, 2_000_000), 12);
}

#[test]
fn a_mask_of_all_ones_has_no_budget() {
    let mut schedule = running(&order(&[(u32::MAX, MS), (2, MS)]));
    assert_eq!(passed(&mut schedule, 0, 1538, 0, 1_000_000), 1000);
}

#[test]
fn an_unknown_speed_is_10_megabit() {
    let entries = [(1, 10 * MS), (2, 10 * MS)];
    let mut schedule = running(&KernelOrder { speed_mbps: None, ..order(&entries) });
    assert_eq!(passed(&mut schedule, 0, 1538, 0, 10_000_000), 8);
}

#[test]
fn frames_longer_than_the_longest_opening_are_not_queued() {
    let schedule = running(&order(&[(1, 50_000), (2, 950_000)]));
    assert_eq!(schedule.longest_bytes(0), 601, "625 bytes in 50 us, 24 of them overhead");
    assert_eq!(schedule.longest_bytes(1), 11_851);
    let entries = [(1, 50_000), (1, 950_000)];
    let without = running(&KernelOrder { overhead: 0, ..order(&entries) });
    assert_eq!(without.longest_bytes(0), u32::MAX, "always open");
    assert_eq!(without.longest_bytes(1), u32::MAX, "never open, and the subtraction wraps");
    assert_eq!(running(&order(&entries)).longest_bytes(1), 15, "never open: no frame is short enough");
    let mut max_sdu = [0; CLASSES_MAX];
    max_sdu[0] = 100;
    assert_eq!(running(&KernelOrder { max_sdu, ..order(&entries) }).longest_bytes(0), 114);
}

#[test]
fn the_guard_band_is_strict() {
    let mut schedule = running(&order(&[(1, MS), (2, MS)]));
    // 1,250 bytes take 100,000 ns.
    assert_eq!(schedule.ask(0, 1250, 900_000), Verdict::Refused);
    assert_eq!(schedule.ask(0, 1250, 899_999), Verdict::Pass);
}

#[test]
fn a_refused_frame_uses_up_the_budget_of_all_classes() {
    let mut schedule = running(&order(&[(3, MS), (1, MS)]));
    // Class 1 has 12,500 bytes, and class 0 never closes.
    assert_eq!(schedule.ask(1, 12_000, 0), Verdict::Pass);
    assert_eq!(schedule.ask(1, 1000, 0), Verdict::Refused);
    assert_eq!(schedule.ask(1, 100, 0), Verdict::Refused, "500 bytes were left before the long one");
    assert_eq!(schedule.ask(0, 1000, 0), Verdict::Pass, "always open: unlimited");
}

#[test]
fn a_cycle_longer_than_the_list_is_ignored() {
    let entries = [(1, 8 * MS), (2, 2 * MS)];
    let mut schedule = running(&KernelOrder { cycle_ns: Some(15_000_000), ..order(&entries) });
    let masks: Vec<u32> = [7_900_000, 9_000_000, 10_000_000, 18_500_000, 28_500_000]
        .map(|at| {
            schedule.advance(at);
            schedule.mask()
        })
        .into();
    assert_eq!(masks, [1, 2, 1, 2, 2]);
}

#[test]
fn a_cycle_shorter_than_the_list_cuts_it() {
    let entries = [(1, 4 * MS), (2, 6 * MS), (1, MS)];
    let mut schedule = running(&KernelOrder { cycle_ns: Some(7_000_000), ..order(&entries) });
    for (at, mask) in [(3_000_000, 1), (6_900_000, 2), (7_000_000, 1), (11_500_000, 2), (14_000_000, 1)] {
        schedule.advance(at);
        assert_eq!(schedule.mask(), mask, "at {at}");
    }
    let long_first = [(1, 8 * MS), (2, MS)];
    let mut starving = running(&KernelOrder { cycle_ns: Some(5_000_000), ..order(&long_first) });
    let open_ns: u64 = (0..1000)
        .map(|at| {
            starving.advance(at * 100_000);
            u64::from(starving.mask() >> 1 & 1)
        })
        .sum();
    assert_eq!(open_ns, 0, "class 1 starves");
}

#[test]
fn all_gates_are_open_before_the_base_time() {
    let entries = [(1, MS), (2, MS)];
    let mut schedule = running(&KernelOrder { base_ns: 5_000_000, ..order(&entries) });
    schedule.advance(4_999_999);
    assert_eq!((schedule.mask(), schedule.longest_bytes(0)), (ALL_OPEN, u32::MAX));
    schedule.advance(5_000_000);
    assert_eq!(schedule.mask(), 1);
    let mut past = running(&KernelOrder { base_ns: -3_500_000, ..order(&entries) });
    past.advance(0);
    assert_eq!((past.mask(), past.next_change_ns()), (2, 500_000));
}

#[test]
fn all_gates_are_open_from_a_replacement_to_the_next_change() {
    let entries = [(1, 900 * MS), (2, 100 * MS)];
    let mut schedule = running(&order(&entries));
    schedule.replaced_at(306_000_000);
    schedule.advance(305_999_999);
    assert_eq!((schedule.mask(), schedule.next_change_ns()), (1, 306_000_000));
    schedule.advance(306_000_000);
    assert_eq!(schedule.mask(), ALL_OPEN);
    schedule.advance(899_999_999);
    assert_eq!(schedule.mask(), ALL_OPEN, "594 ms after the replacement");
    schedule.advance(900_000_000);
    assert_ne!(schedule.mask(), ALL_OPEN);
    for (at, mask) in [(1_000_000_000, 1), (1_899_999_999, 1), (1_900_000_000, 2), (2_000_000_000, 1)] {
        schedule.advance(at);
        assert_eq!(schedule.mask(), mask, "at {at}");
    }
}

#[test]
fn a_late_timer_delays_the_opening_and_not_the_guard_band() {
    let entries = [(1, MS), (2, MS)];
    let mut schedule = KernelSchedule::installed(&order(&entries), 30_000).unwrap();
    schedule.advance(1_029_999);
    assert_eq!(schedule.mask(), 1);
    assert_eq!(schedule.ask(0, 64, 1_010_000), Verdict::Refused, "its gate should have closed");
    schedule.advance(1_030_000);
    assert_eq!(schedule.mask(), 2);
    assert_eq!(schedule.next_change_ns(), 2_030_000);
}

#[test]
fn cycles_without_frames_are_skipped() {
    let entries = [(1, MS), (2, 2 * MS)];
    for (cycle_ns, period_ns) in
        [(None, 3_000_000), (Some(5_000_000), 3_000_000), (Some(2_500_000), 2_500_000)]
    {
        let mut leapt = running(&KernelOrder { cycle_ns, ..order(&entries) });
        let mut walked = leapt.clone();
        let end_ns = 1_000_000 * period_ns;
        leapt.advance(end_ns);
        (0..1_000_000).for_each(|cycle| walked.advance(cycle * period_ns));
        walked.advance(end_ns);
        assert_eq!((leapt.mask(), leapt.next_change_ns()), (1, end_ns + 1_000_000), "{cycle_ns:?}");
        assert_eq!((walked.mask(), walked.next_change_ns()), (leapt.mask(), leapt.next_change_ns()));
        assert_eq!(leapt.ask(0, 12_400, end_ns), Verdict::Pass);
        let last_ns = end_ns + period_ns - 1;
        leapt.advance(last_ns);
        walked.advance(last_ns);
        assert_eq!((leapt.mask(), leapt.next_change_ns()), (2, last_ns + 1), "{cycle_ns:?}");
        assert_eq!((walked.mask(), walked.next_change_ns()), (2, last_ns + 1), "{cycle_ns:?}");
    }
}

#[test]
fn the_phase_of_a_cycle_longer_than_the_list_depends_on_the_installation() {
    let entries = [(1, 8 * MS), (2, 2 * MS)];
    let order = KernelOrder { cycle_ns: Some(15_000_000), base_ns: -100_000_000, ..order(&entries) };
    // The kernel starts the list at the first start of a cycle after the installation, and then every 10 ms.
    for (installed_ns, opens_ns) in
        [(-40_000_000, 3_000_000), (-15_000_000, 8_000_000), (2_000_000, 13_000_000)]
    {
        let mut schedule = KernelSchedule::installed_at(&order, installed_ns, 0).unwrap();
        schedule.advance(opens_ns - 1);
        assert_ne!(schedule.mask(), 2, "installed at {installed_ns}");
        schedule.advance(opens_ns);
        assert_eq!(schedule.mask(), 2, "installed at {installed_ns}");
    }
}

#[test]
fn an_observed_timer_fires_at_its_observed_time() {
    let mut schedule = KernelSchedule::installed(&order(&[(1, MS), (2, MS)]), 5_000).unwrap();
    // The second time is 1.2 ms after its entry, and 0.2 ms after the entry that follows.
    schedule.fires_as_seen(vec![1_020_000, 3_200_000, 3_201_000]);
    assert_eq!(schedule.next_change_ns(), 1_020_000);
    schedule.advance(1_019_999);
    assert_eq!(schedule.mask(), 1);
    schedule.advance(1_020_000);
    assert_eq!((schedule.mask(), schedule.next_change_ns()), (2, 3_200_000));
    schedule.advance(3_199_999);
    assert_eq!(schedule.mask(), 2);
    schedule.advance(3_200_000);
    assert_eq!((schedule.mask(), schedule.next_change_ns()), (2, 4_005_000));
}
