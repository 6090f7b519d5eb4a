//! What a boot's instructions were spent on: as text, and for the page.

use std::fmt::Write;

use tardy_plot::numbers::{count, harmless};
use tardy_record::explanation::Boot;

use tardy_present::page::{Element, PageTable, folded_table, heading, paragraph};
use tardy_present::terminal_text::folded;

/// Functions that the terminal lists.
const SHOWN: usize = 40;

/// The boot for the terminal, at most `width` wide.
pub(super) fn text(boot: &Boot, ns_per_instruction: u64, width: usize) -> String {
    let mut text = format!("\n{}\n\n", folded(&sentence(boot, ns_per_instruction), width).join("\n"));
    let _ = writeln!(text, "  {:>13}  {:>6}  function", "instructions", "share");
    for row in rows(boot).iter().take(SHOWN) {
        let _ = writeln!(text, "  {:>13}  {:>6}  {}", row[0], row[1], row[2]);
    }
    if boot.functions.len() > SHOWN {
        let others = count((boot.functions.len() - SHOWN) as u64);
        let _ = writeln!(text, "  and {others} others, which a page (-o NAME.html) and --json list");
    }
    text
}

/// The boot for the page.
pub(super) fn elements(boot: &Boot, ns_per_instruction: u64) -> Vec<Element> {
    let mut elements = vec![heading(2, "The boot"), paragraph("", &sentence(boot, ns_per_instruction))];
    let table = PageTable::new("", &["instructions", "share", "function"], rows(boot));
    elements.extend(folded_table("Functions of the boot", table));
    elements
}

fn sentence(boot: &Boot, ns_per_instruction: u64) -> String {
    format!(
        "The boot executed {} instructions up to the first program, {:.2} s of the guest's time without its sleep. An instruction belongs to \
         the function that contains it, not to its callers.",
        count(boot.instructions),
        (boot.instructions * ns_per_instruction) as f64 / 1e9
    )
}

fn rows(boot: &Boot) -> Vec<Vec<String>> {
    let all = boot.instructions.max(1) as f64;
    let row = |function: &tardy_record::explanation::BootFunction| {
        let share = 100.0 * function.instructions as f64 / all;
        vec![count(function.instructions), format!("{share:.1} %"), harmless(&function.name)]
    };
    boot.functions.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_record::explanation::BootFunction;

    #[test]
    fn the_terminal_lists_the_first_functions_and_counts_the_others() {
        let function =
            |number: u64| BootFunction { name: format!("function_{number}"), instructions: 100 - number };
        let functions: Vec<BootFunction> = (0..SHOWN as u64 + 3).map(function).collect();
        let boot = Boot { instructions: functions.iter().map(|one| one.instructions).sum(), functions };
        let text = text(&boot, 2, 100);
        assert!(text.contains("function_39") && !text.contains("function_40"), "{text}");
        assert!(text.contains("and 3 others"), "{text}");
        assert!(text.contains("3,397 instructions"), "{text}");
    }
}
