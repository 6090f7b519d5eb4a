//! The message that no thread of a program is periodic.

/// That no thread is periodic, and what they do. `lost` events were lost by buffers of this size for each CPU.
pub fn no_rhythm(
    named: &str,
    others: &[(String, Vec<(String, usize)>)],
    lost: u64,
    buffer_kib: u32,
) -> String {
    const SHOWN: usize = 5;
    let thread = |(name, waits): &(String, Vec<(String, usize)>)| {
        let waits: Vec<String> = waits.iter().map(|(wait, count)| format!("{count} x {wait}")).collect();
        match waits.is_empty() {
            true => format!("of '{name}' no wait has ended"),
            false => format!("'{name}' waited {}", waits.join(", ")),
        }
    };
    let shown: Vec<String> = others.iter().take(SHOWN).map(thread).collect();
    let more = others.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let advice = match lost {
        0 => "a longer --warmup finds longer periods".to_owned(),
        _ => format!(
            "{lost} events were lost, and waits with them; a --buffer of more than {buffer_kib} KiB loses fewer"
        ),
    };
    format!(
        "no thread of {} waits periodically: {}{more}; {advice}",
        named,
        if shown.is_empty() { "it has ended".to_owned() } else { shown.join("; ") }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_depends_on_whether_events_were_lost() {
        let others = [("loop".to_owned(), vec![("ppoll until its time-out".to_owned(), 3)])];
        let whole = no_rhythm("7", &others, 0, 8);
        assert!(whole.contains("'loop' waited 3 x ppoll") && whole.contains("a longer --warmup"), "{whole}");
        let lossy = no_rhythm("7", &others, 9000, 8);
        assert!(
            lossy.contains("9000 events were lost") && lossy.contains("--buffer of more than 8 KiB"),
            "{lossy}"
        );
        assert!(!lossy.contains("--warmup"), "{lossy}");
    }
}
