//! For the terminal.

use tardy_plot::numbers::harmless;

use super::Judged;

/// Two lines for each judgement, and the outcome.
pub(super) fn text(judged: &[Judged]) -> String {
    let several = judged.iter().any(|one| one.run != judged[0].run);
    let mut out = String::new();
    for one in judged {
        let run = if several { format!("   {}", harmless(&one.run)) } else { String::new() };
        out.push_str(&format!("{:<12}  {}{run}\n", one.outcome().name(), one.demand()));
        out.push_str(&format!("{:<12}  {}\n", "", one.because()));
    }
    out.push_str(&format!("\nOutcome: {}.\n", super::outcome(judged).name()));
    out
}
