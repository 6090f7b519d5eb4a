//! Some published results, for runs that repeat them.

use tardy_analyse::published::PublishedResult;

pub(crate) fn results() -> Vec<PublishedResult> {
    let of = |id: &str, source: &str, board: &str| PublishedResult {
        id: id.to_owned(),
        source: source.to_owned(),
        board: Some(board.to_owned()),
        cpus: Some(1),
        ..PublishedResult::default()
    };
    let rpi = |id: &str, rt: bool| PublishedResult {
        cpus: Some(4),
        kernel: Some(if rt { "4.9.47-rt37-v7+" } else { "4.9.41-v7+" }.to_owned()),
        preempt_rt: Some(rt),
        wake: Some("clock_nanosleep".to_owned()),
        interval_us: Some(200.0),
        samples_per_thread: Some(100_000_000),
        duration: (!rt).then(|| "more than 5 h".to_owned()),
        load: Some("none".to_owned()),
        max_us: Some(if rt { 90.0 } else { 500.0 }),
        approx: vec!["max_us".to_owned()],
        max_note: Some("most samples below 50 <us>".to_owned()),
        ..of(
            id,
            "Latency of Raspberry Pi 3 on Standard and Real-Time Linux 4.9 Kernel",
            "Raspberry Pi 3 Model B",
        )
    };
    let at91 = "Real Time solutions on AT91SAM SoC";
    let xenomai = |id: &str, level: &str, max_us: f64| PublishedResult {
        xenomai: Some("2.6".to_owned()),
        kernel: Some("2.6.38.8-ipipe+".to_owned()),
        load: Some("doload.sh 65, repeated".to_owned()),
        level: Some(level.to_owned()),
        duration: Some("10 h".to_owned()),
        max_us: Some(max_us),
        ..of(id, at91, "AT91SAM9G20-EK")
    };
    vec![
        rpi("rpi3-4.9-standard-idle", false),
        rpi("rpi3-4.9-rt-idle", true),
        PublishedResult {
            kernel: Some("3.0.12-rt30+".to_owned()),
            preempt_rt: Some(true),
            wake: Some("clock_nanosleep".to_owned()),
            duration: Some("44 h 30 min".to_owned()),
            samples: Some(160_247_021),
            min_us: Some(16.0),
            avg_us: Some(87.0),
            max_us: Some(177.0),
            ..of("g20-rt-n", at91, "AT91SAM9G20-EK")
        },
        PublishedResult {
            preempt_rt: Some(false),
            probe: Some("gpio-reaction".to_owned()),
            max_at_least_us: Some(30_000.0),
            ..of("g20-gpio-standard", at91, "AT91SAM9G20-EK")
        },
        xenomai("g20-xenomai-irq", "timer IRQ", 21.24),
        xenomai("g20-xenomai-kernel", "kernel task", 42.542),
        xenomai("g20-xenomai-user", "user task", 106.589),
    ]
}
