//! Whether the kernel is PREEMPT_RT: decided on evidence only.
//!
//! The running kernel provides evidence in three places: /sys/kernel/realtime (RT patches, and mainline later), its version
//! string, and /proc/config.gz. A configuration on disk may belong to another build with the same name, so it can contradict
//! other evidence but not decide alone. The release name is not evidence: anyone can choose it.

use tardy_record::facts::{Evidence, Fact, Kernel};
use tardy_sys::kernel_files::KernelFiles;

use super::kernel_config::KernelConfig;

/// Gathers the evidence, decides, and notes contradictions.
pub(super) fn weigh(files: &KernelFiles, config: &KernelConfig, kernel: &mut Kernel) {
    let mut evidence = vec![realtime_file(files), version(kernel)];
    evidence.extend(configuration(config));
    evidence.extend(name(kernel));
    kernel.real_time = decide(&evidence);
    kernel.contradictions = contradictions(&evidence, kernel.real_time.get().copied());
    kernel.preemption_evidence = evidence;
}

fn realtime_file(files: &KernelFiles) -> Evidence {
    const PATH: &str = "/sys/kernel/realtime";
    let (says, real_time) = match files.text(PATH) {
        Ok(text) if text == "1" => ("1".to_owned(), Some(true)),
        Ok(text) if text == "0" => ("0".to_owned(), Some(false)),
        Ok(text) => (format!("'{}', which has no meaning", text.chars().take(20).collect::<String>()), None),
        // Mainline had PREEMPT_RT before it had this file, so a missing file is not evidence.
        Err(error) => (error.reason(), None),
    };
    Evidence { source: PATH.to_owned(), says, real_time, first_hand: true }
}

fn version(kernel: &Kernel) -> Evidence {
    let source = "uname -v".to_owned();
    let Some(version) = kernel.version.get() else {
        return Evidence { source, says: "unknown".to_owned(), real_time: None, first_hand: true };
    };
    // Every kernel build writes `#<number> … flags …`; any other text was written by hand.
    let real_time =
        if says_preempt_rt(version) { Some(true) } else { version.starts_with('#').then_some(false) };
    Evidence { source, says: version.clone(), real_time, first_hand: true }
}

/// `PREEMPT_RT` (5.3 and later), `PREEMPT RT` (RT patches before), `PREEMPT_{RT,(full)}` (some kernels from 6.13).
fn says_preempt_rt(version: &str) -> bool {
    let words: Vec<&str> = version.split_whitespace().collect();
    words
        .iter()
        .any(|word| matches!(*word, "PREEMPT_RT" | "PREEMPT_RT_FULL") || word.starts_with("PREEMPT_{RT"))
        || words.windows(2).any(|pair| pair == ["PREEMPT", "RT"])
}

fn configuration(config: &KernelConfig) -> Option<Evidence> {
    let options = config.options.get()?;
    let set = ["PREEMPT_RT", "PREEMPT_RT_FULL"]
        .into_iter()
        .find(|name| options.get(*name).is_some_and(|v| v == "y"));
    Some(Evidence {
        source: config.options.how.clone(),
        says: set
            .map_or_else(|| "CONFIG_PREEMPT_RT is not set".to_owned(), |name| format!("CONFIG_{name}=y")),
        real_time: Some(set.is_some()),
        first_hand: config.first_hand,
    })
}

fn name(kernel: &Kernel) -> Option<Evidence> {
    kernel.name_promises_real_time().then(|| Evidence {
        source: "uname -r".to_owned(),
        says: format!(
            "'rt' in {}, a name that anyone can choose",
            kernel.release.get().map_or("", String::as_str)
        ),
        real_time: None,
        first_hand: true,
    })
}

fn decide(evidence: &[Evidence]) -> Fact<bool> {
    let sources = |answer: bool| -> Vec<&str> {
        evidence
            .iter()
            .filter(|piece| piece.first_hand && piece.real_time == Some(answer))
            .map(|piece| piece.source.as_str())
            .collect()
    };
    let (yes, no) = (sources(true), sources(false));
    match (yes.is_empty(), no.is_empty()) {
        (false, true) => Fact::known(true, yes.join(", ")),
        (true, false) => Fact::known(false, no.join(", ")),
        (true, true) => {
            let looked: Vec<&str> = evidence.iter().map(|piece| piece.source.as_str()).collect();
            Fact::unknown(format!("no first-hand evidence in {}", looked.join(", ")))
        }
        (false, false) => Fact::unknown(format!("{} against {}", yes.join(", "), no.join(", "))),
    }
}

fn contradictions(evidence: &[Evidence], decision: Option<bool>) -> Vec<String> {
    match decision {
        Some(decision) => evidence
            .iter()
            .filter(|piece| piece.real_time == Some(!decision))
            .map(|piece| {
                format!(
                    "{} reports {}, but the running kernel contradicts it: the file belongs to another kernel",
                    piece.source, piece.says
                )
            })
            .collect(),
        None => {
            let first =
                |answer| evidence.iter().find(|piece| piece.first_hand && piece.real_time == Some(answer));
            match (first(true), first(false)) {
                (Some(yes), Some(no)) => {
                    vec![format!("{} reports {}, but {} reports {}", yes.source, yes.says, no.source, no.says)]
                }
                _ => Vec::new(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rt_kernels_of_every_age_are_recognised() {
        for rt in [
            "#1 SMP PREEMPT_RT Debian 6.12.43-1 (2025-08-27)",
            "#1 SMP PREEMPT RT Sat Sep 2 12:00:00 CEST 2017",
            "#1 PREEMPT RT Fri Dec 2 2011",
            "#45~22.04.1-Ubuntu SMP PREEMPT_{RT,(full)} Mon",
        ] {
            assert!(says_preempt_rt(rt), "{rt}");
        }
        for not in [
            "#250 PREEMPT Thu Oct 18 2012",
            "#1 SMP PREEMPT_DYNAMIC @0",
            "#1 SMP PREEMPT START",
            "#1 PREEMPT_RTB x",
            "RT",
        ] {
            assert!(!says_preempt_rt(not), "{not}");
        }
    }

    fn piece(source: &str, real_time: Option<bool>, first_hand: bool) -> Evidence {
        Evidence { source: source.into(), says: "so".into(), real_time, first_hand }
    }

    #[test]
    fn a_file_on_disk_contradicts_but_never_decides() {
        let on_disk = piece("/boot/config-x", Some(true), false);
        assert!(decide(std::slice::from_ref(&on_disk)).get().is_none());
        let all = [piece("uname -v", Some(false), true), on_disk];
        assert_eq!(decide(&all).get(), Some(&false));
        assert_eq!(contradictions(&all, Some(false)).len(), 1);
    }

    #[test]
    fn contradicting_first_hand_evidence_is_unknown() {
        let all = [piece("/sys/kernel/realtime", Some(true), true), piece("uname -v", Some(false), true)];
        assert!(decide(&all).get().is_none());
        assert_eq!(contradictions(&all, None).len(), 1);
    }
}
