//! What the instructions of a boot were spent on, by function.

use std::collections::BTreeMap;

use tardy_record::explanation::{Boot, BootFunction};

use crate::block::KERNEL;
use crate::kallsyms::Symbols;
use crate::observed::Observed;

/// Code at physical addresses, before the kernel has its page tables, and of the firmware.
const EARLY: &str = "before the kernel's addresses";
/// Code below all known functions.
const OTHER: &str = "other";

/// The instructions from the start of the machine to the first program. They belong to the function that contains them, not to its
/// callers; functions of the same name are one.
pub fn boot(symbols: &Symbols, observed: &Observed) -> Boot {
    let mut functions: BTreeMap<&str, u64> = BTreeMap::new();
    for block in observed.blocks.iter().filter(|block| block.in_boot > 0) {
        let name = match symbols.function_at(block.start) {
            _ if block.start < KERNEL => EARLY,
            Some((index, _)) => &symbols.functions()[index].1,
            None => OTHER,
        };
        *functions.entry(name).or_default() += block.in_boot;
    }
    let mut functions: Vec<BootFunction> = functions
        .into_iter()
        .map(|(name, instructions)| BootFunction { name: name.to_owned(), instructions })
        .collect();
    functions.sort_by(|a, b| b.instructions.cmp(&a.instructions).then_with(|| a.name.cmp(&b.name)));
    Boot { instructions: functions.iter().map(|function| function.instructions).sum(), functions }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Block;
    use crate::synthetic;

    #[test]
    fn instructions_belong_to_the_function_that_contains_them_and_the_most_come_first() {
        let base = KERNEL | 0x1000;
        let symbols = Symbols::from_all(
            [("Ta", base), ("tb", base + 0x100), ("ta", base + 0x200)]
                .map(|(name, at)| (name.to_owned(), at))
                .into_iter(),
        );
        let block = |start, in_boot| Block { in_boot, ..synthetic::block(start, &[&[0x90]]) };
        let blocks = vec![
            block(base, 3),
            block(base + 0x10, 4),
            block(base + 0x110, 50),
            block(base + 0x210, 1),
            block(0x100_0000, 9),
            block(base + 0x120, 0),
        ];
        let boot = boot(&symbols, &Observed { blocks, ..Observed::default() });
        let all: Vec<(&str, u64)> =
            boot.functions.iter().map(|function| (&function.name[..], function.instructions)).collect();
        assert_eq!(all, [("b", 50), (EARLY, 9), ("a", 8)]);
        assert_eq!(boot.instructions, 67);
    }
}
