use super::*;
use proptest::prelude::*;

/// Pseudo-random numbers, the same every time.
struct Noise(u64);

impl Noise {
    /// From 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Trials of these changes on a machine that drifts. Each change multiplies all latencies by its factor.
fn trials(rounds: u32, changes: &[(&str, f64)], seed: u64) -> Vec<Observation> {
    let mut noise = Noise(seed);
    let mut all = Vec::new();
    for round in 1..=rounds {
        let drift = 20_000.0 * (1.0 + f64::from(round) / 4.0);
        let mut reading = |factor: f64| {
            let p99_9 = drift * factor * (1.0 + 0.1 * noise.next());
            // The highest latency of a trial varies mostly by chance.
            let worst = p99_9 * (1.5 + 4.0 * noise.next());
            Ok(Reading { p99_9_ns: Some(p99_9 as i64), worst_ns: Some(worst as i64) })
        };
        all.push(Observation { round, change: None, reading: reading(1.0) });
        for (change, factor) in changes {
            all.push(Observation { round, change: Some((*change).to_owned()), reading: reading(*factor) });
        }
    }
    all
}

fn names(changes: &[(&str, f64)]) -> Vec<String> {
    changes.iter().map(|(name, _)| (*name).to_owned()).collect()
}

const CHANGES: [(&str, f64); 4] = [("a", 1.0), ("b", 0.6), ("c", 1.7), ("d", 1.0)];

#[test]
fn a_known_effect_is_found_although_the_machine_drifts_by_more() {
    let found = diagnose(&names(&CHANGES), &trials(12, &CHANGES, 3));
    assert_eq!(found.rounds, 12);
    let verdicts: Vec<_> =
        found.effects.iter().map(|effect| (effect.change.as_str(), effect.verdict)).collect();
    assert_eq!(verdicts[0], ("b", Verdict::Helps));
    assert_eq!(verdicts[3], ("c", Verdict::Harms));
    assert!(verdicts[1..3].iter().all(|(_, verdict)| *verdict == Verdict::NoDifferenceSeen), "{verdicts:?}");
    let helped = &found.effects[0].p99_9;
    assert_eq!(helped.verdict, Verdict::Helps);
    let (low, high) = helped.ratio_interval.unwrap();
    assert!(low < 0.6 && high > 0.6 && low > 0.5 && high < 0.7, "{helped:?}");
    assert!(helped.p <= 0.05 && helped.pairs == 12, "{helped:?}");
}

#[test]
fn changes_without_an_effect_are_reported_in_at_most_one_of_twenty_diagnoses() {
    let nothing: Vec<(&str, f64)> = CHANGES.iter().map(|(name, _)| (*name, 1.0)).collect();
    let is_wrong = |seed: &u64| {
        let found = diagnose(&names(&nothing), &trials(10, &nothing, seed << 32));
        found.effects.iter().any(|effect| effect.verdict != Verdict::NoDifferenceSeen)
    };
    let wrong = (1..=2000u64).filter(is_wrong).count();
    // At most 100 are expected. The seeds are fixed, so the result is always the same.
    assert!(wrong <= 100, "{wrong} of 2000");
    assert!(wrong > 0, "a test that never errs has no power");
}

#[test]
fn too_few_rounds_are_reported_with_the_number_needed() {
    // Eight tests: 2^(1-n) * 8 <= 0.05 from n = 9 on.
    assert_eq!(least_rounds(4), 9);
    assert_eq!(least_rounds(1), 7);
    let found = diagnose(&names(&CHANGES), &trials(8, &CHANGES, 3));
    assert_eq!(found.least_rounds, 9);
    assert!(found.effects.iter().all(|effect| effect.verdict == Verdict::TooFewRounds), "{found:?}");
    let found = diagnose(&names(&CHANGES), &trials(9, &CHANGES, 3));
    assert_eq!(found.effects[0].verdict, Verdict::Helps);
}

#[test]
fn only_rounds_with_two_valid_trials_count() {
    let mut observations = trials(12, &CHANGES, 3);
    for one in &mut observations {
        let baseline_was_spoilt = one.change.is_none() && one.round <= 2;
        let b_was_spoilt = one.change.as_deref() == Some("b") && one.round == 12;
        if baseline_was_spoilt || b_was_spoilt {
            one.reading = Err("load cpu died".to_owned());
        }
    }
    let found = diagnose(&names(&CHANGES), &observations);
    let effect = |name: &str| found.effects.iter().find(|effect| effect.change == name).unwrap();
    assert_eq!((found.rounds, effect("a").rounds, effect("b").rounds), (10, 10, 9));
    assert_eq!(found.left_out, ["load cpu died"]);
    assert_eq!(effect("b").left_out, ["load cpu died"]);
    assert_eq!(effect("b").verdict, Verdict::Helps, "nine are enough");
    for one in observations.iter_mut().filter(|one| one.change.as_deref() == Some("b") && one.round == 11) {
        one.reading = Err("it slackened".to_owned());
    }
    let found = diagnose(&names(&CHANGES), &observations);
    let b = found.effects.iter().find(|effect| effect.change == "b").unwrap();
    assert_eq!((b.verdict, b.rounds), (Verdict::TooFewRounds, 8));
    assert_eq!(b.left_out, ["it slackened", "load cpu died"]);
}

#[test]
fn no_trials_at_all_do_not_panic() {
    let found = diagnose(&[], &[]);
    assert_eq!((found.rounds, found.effects.len()), (0, 0));
    let found = diagnose(&names(&CHANGES), &[]);
    assert!(found.effects.iter().all(|effect| effect.verdict == Verdict::TooFewRounds));
}

#[test]
fn trials_without_a_p99_9_are_compared_by_their_worst() {
    let mut observations = trials(12, &CHANGES, 3);
    for one in &mut observations {
        let factor = if one.change.as_deref() == Some("b") { 5 } else { 10 };
        one.reading = Ok(Reading { p99_9_ns: None, worst_ns: Some(1000 * factor + i64::from(one.round)) });
    }
    let b = &diagnose(&names(&CHANGES), &observations).effects[0];
    assert_eq!((b.change.as_str(), b.p99_9.pairs, b.p99_9.ratio), ("b", 0, None));
    assert_eq!((b.p99_9.verdict, b.verdict), (Verdict::TooFewRounds, Verdict::Helps));
}

proptest! {
    /// For any numbers and any number of rounds, the verdict agrees with the ratio and the number of rounds.
    #[test]
    fn verdicts_follow_from_their_numbers(
        readings in prop::collection::vec((prop::option::of(any::<i64>()), any::<bool>(), 0u32..6, 0usize..3), 0..60),
    ) {
        let changes = ["x".to_owned(), "y".to_owned()];
        let observations: Vec<Observation> = readings
            .into_iter()
            .map(|(worst_ns, counts, round, which)| Observation {
                round,
                change: which.checked_sub(1).map(|index| changes[index].clone()),
                reading: if counts { Ok(Reading { p99_9_ns: worst_ns, worst_ns }) } else { Err("no".to_owned()) },
            })
            .collect();
        let found = diagnose(&changes, &observations);
        prop_assert_eq!(found.effects.len(), 2);
        for effect in &found.effects {
            prop_assert!((0.0..=1.0).contains(&effect.worst.p));
            if effect.verdict == Verdict::Helps {
                prop_assert!(effect.worst.ratio.is_some_and(|ratio| ratio < 1.0));
                prop_assert!(effect.rounds >= found.least_rounds);
            }
        }
    }
}
