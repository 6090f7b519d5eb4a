use super::*;

/// Pseudo-random numbers, the same everywhere (xorshift64*).
struct Random(u64);

impl Random {
    fn share(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.share()).sum::<f64>() - 6.0
    }
}

/// A simulated source.
#[derive(Clone, Copy)]
struct Source {
    period_ns: f64,
    jitter_ns: f64,
    missing: f64,
    length_ns: u64,
}

fn pulses(source: Source, span_ns: f64, random: &mut Random) -> Vec<Event> {
    let mut events = Vec::new();
    let mut at = source.period_ns * 0.37;
    while at < span_ns {
        if random.share() >= source.missing {
            let at_ns = (at + source.jitter_ns * random.normal()).max(0.0) as u64;
            events.push(Event { at_ns, length_ns: source.length_ns });
        }
        at += source.period_ns;
    }
    events
}

fn at_random(per_second: f64, span_ns: f64, random: &mut Random) -> Vec<Event> {
    let count = (per_second * span_ns * 1e-9) as usize;
    (0..count).map(|_| Event { at_ns: (random.share() * span_ns) as u64, length_ns: 900 }).collect()
}

fn mixed(parts: &[Vec<Event>]) -> Vec<Event> {
    let mut events = parts.concat();
    events.sort_by_key(|event| event.at_ns);
    events
}

const USB: Source = Source { period_ns: 125_000.0, jitter_ns: 400.0, missing: 0.02, length_ns: 4_500 };

/// The trace of the Raspberry Pi 1 article: a pin that a busy loop toggles does not change for 4.5 us every 125 us.
#[test]
fn the_articles_hole_is_found_in_a_tenth_of_a_second() {
    let found = find(&pulses(USB, 100e6, &mut Random(1)));
    assert_eq!(found.len(), 1, "{found:#?}");
    let usb = &found[0];
    assert!((usb.period_ns - 125_000.0).abs() < 5.0, "{}", usb.period_ns);
    assert_eq!(usb.length_ns, 4_500);
    assert!((300.0..500.0).contains(&usb.jitter_ns), "{}", usb.jitter_ns);
    assert!((5..30).contains(&usb.missing), "{}", usb.missing);
    assert_eq!(usb.drift_ppm_per_s, None);
}

/// 8 kHz, 20 ppm off, with 2 us of jitter and a tenth of the events missing, among as many random events.
#[test]
fn a_period_is_found_among_noise_at_every_length() {
    for (span_ns, within_hz) in [(10e6, 3.0), (100e6, 0.1), (1e9, 0.01), (4e9, 0.003)] {
        let mut random = Random(7);
        let source = Source { period_ns: 125_002.5, jitter_ns: 2_000.0, missing: 0.1, length_ns: 4_500 };
        let noise = at_random(2_000.0, span_ns, &mut random);
        let found = find(&mixed(&[pulses(source, span_ns, &mut random), noise]));
        let hz = found.first().map_or(0.0, |period| 1e9 / period.period_ns);
        assert!((hz - 7_999.84).abs() < within_hz, "{span_ns}: {hz}");
        assert!(found.iter().all(|period| (period.period_ns - 125_002.5).abs() < 100.0), "{found:#?}");
    }
}

/// With an additional tick of 1 ms, the line at 32 kHz is stronger than the one at 8 kHz.
#[test]
fn two_sources_are_both_found_by_their_fundamentals() {
    for span_ns in [100e6, 1e9] {
        let mut random = Random(3);
        let tick = Source { period_ns: 1e6, jitter_ns: 300.0, missing: 0.0, length_ns: 2_100 };
        let mut usb = pulses(USB, span_ns, &mut random);
        // Not in step with the tick.
        usb.iter_mut().for_each(|event| event.at_ns += 31_000);
        let found = find(&mixed(&[usb, pulses(tick, span_ns, &mut random)]));
        let periods: Vec<f64> =
            found.iter().map(|period| (period.period_ns / 100.0).round() * 100.0).collect();
        assert_eq!(periods, [125_000.0, 1_000_000.0], "{found:#?}");
        assert_eq!(found[1].length_ns, 2_100);
    }
}

#[test]
fn random_events_have_no_period() {
    for seed in 1..=10 {
        let mut events = at_random(100_000.0, 100e6, &mut Random(seed * 7919));
        events.sort_by_key(|event| event.at_ns);
        let found = find(&events);
        assert!(found.is_empty(), "seed {seed}: {found:#?}");
    }
}

#[test]
fn too_few_events_have_no_period() {
    let few = Source { period_ns: 1e6, jitter_ns: 0.0, missing: 0.0, length_ns: 1 };
    assert!(find(&pulses(few, 20e6, &mut Random(1))).is_empty());
    assert!(find(&[]).is_empty());
}

/// The period drifts by 50 ppm per second for 10 s.
#[test]
fn a_drift_is_reported() {
    let mut random = Random(11);
    let mut events = Vec::new();
    let mut at = 1e6;
    let mut period = 1e6;
    while at < 10e9 {
        events.push(Event { at_ns: (at + 200.0 * random.normal()) as u64, length_ns: 3_000 });
        at += period;
        period *= 1.0 + 50e-6 * 1e-3;
    }
    let found = find(&events);
    assert_eq!(found.len(), 1, "{found:#?}");
    let drift = found[0].drift_ppm_per_s.unwrap();
    assert!((drift - 50.0).abs() < 2.0, "{drift}");
}

/// There are no pulses in about a third of the time, as if the device were switched off.
#[test]
fn missing_pulses_are_counted() {
    let mut events = pulses(Source { missing: 0.0, ..USB }, 300e6, &mut Random(5));
    events.retain(|event| !(100_000_000..180_000_000).contains(&event.at_ns));
    let found = find(&events);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!((found[0].missing as i64 - 640).abs() <= 1, "{}", found[0].missing);
}

/// A stop of 50 ms begins at a tick and covers the following ones: it is at a tooth of the tick's comb but is not a
/// tick.
#[test]
fn a_long_gap_that_covers_a_pulse_is_not_one() {
    let tick = Source { period_ns: 4e6, jitter_ns: 300.0, missing: 0.0, length_ns: 3_000 };
    let mut events = pulses(tick, 4e9, &mut Random(13));
    let stops: Vec<Event> =
        (0..4).map(|turn| Event { at_ns: events[100 + turn * 250].at_ns, length_ns: 50_000_000 }).collect();
    let swallowed = |event: &Event| {
        stops.iter().any(|stop| (stop.at_ns..stop.at_ns + stop.length_ns).contains(&event.at_ns))
    };
    events.retain(|event| !swallowed(event));
    let found = find(&mixed(&[events.clone(), stops]));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((found[0].events, found[0].longest_ns), (events.len() as u64, 3_000));
    assert_eq!(found[0].total_ns, 3_000 * events.len() as u64);
}
