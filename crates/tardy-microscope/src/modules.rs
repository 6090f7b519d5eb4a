//! The functions of the modules that were loaded at the end of a run, from the guest's memory.
//!
//! Modules are a list of `struct module` (kernel/module/main.c). Each keeps the symbols of its ELF file (`struct mod_kallsyms`), whose
//! type as nm(1) prints it is in a list of its own.

use crate::guest_memory::GuestMemory;
use crate::little_endian::number;
use crate::orders::KernelImage;
use crate::structures::Unknown;

/// A function of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleFunction {
    /// The address of its first instruction.
    pub address: u64,
    /// Its length in bytes.
    pub length: u64,
    /// Its name, and the module's: `ping [ping_module]`.
    pub name: String,
}

/// More would be a damaged list.
const MODULES_MAX: usize = 1024;
const SYMBOLS_MAX: u64 = 1 << 20;
const NAME_BYTES: usize = 56;
const SYMBOL_NAME_BYTES: usize = 512;
/// `Elf64_Sym`: name (4 bytes), info, other, section, address (8) and size (8).
const SYMBOL_BYTES: usize = 24;

/// Where the members are that are read.
struct Layout {
    list: u64,
    name: u64,
    kallsyms: u64,
    symtab: u64,
    num_symtab: u64,
    strtab: u64,
    typetab: u64,
}

/// The functions of all modules, in no order. What cannot be read is left out.
///
/// # Errors
/// If the kernel's structures are not known.
pub fn functions(kernel: &KernelImage, memory: &GuestMemory<'_>) -> Result<Vec<ModuleFunction>, Unknown> {
    let head = match kernel.symbols.address("modules") {
        Some(head) => head,
        // A kernel that is built without support for modules.
        None if !kernel.structures.has("mod_kallsyms") => return Ok(Vec::new()),
        None => return Err(Unknown::Symbol("modules")),
    };
    let offset = |structure, path| kernel.structures.offset(structure, path);
    let layout = Layout {
        list: offset("module", "list")?,
        name: offset("module", "name")?,
        kallsyms: offset("module", "kallsyms")?,
        symtab: offset("mod_kallsyms", "symtab")?,
        num_symtab: offset("mod_kallsyms", "num_symtab")?,
        strtab: offset("mod_kallsyms", "strtab")?,
        typetab: offset("mod_kallsyms", "typetab")?,
    };
    let mut functions = Vec::new();
    let mut at = memory.number(head, 8);
    for _ in 0..MODULES_MAX {
        let Some(entry) = at.filter(|entry| *entry != head) else { break };
        functions.extend(of_module(entry.wrapping_sub(layout.list), &layout, memory).unwrap_or_default());
        at = memory.number(entry, 8);
    }
    Ok(functions)
}

fn of_module(module: u64, layout: &Layout, memory: &GuestMemory<'_>) -> Option<Vec<ModuleFunction>> {
    let module_name = memory.text(module.wrapping_add(layout.name), NAME_BYTES)?;
    let kallsyms = memory.number(module.wrapping_add(layout.kallsyms), 8)?;
    let word = |offset| memory.number(kallsyms.wrapping_add(offset), 8);
    let (symbols, names, types) = (word(layout.symtab)?, word(layout.strtab)?, word(layout.typetab)?);
    let count = memory.number(kallsyms.wrapping_add(layout.num_symtab), 4)?.min(SYMBOLS_MAX);
    let symbols = memory.bytes(symbols, count as usize * SYMBOL_BYTES)?;
    let types = memory.bytes(types, count as usize)?;
    let functions = symbols.chunks_exact(SYMBOL_BYTES).zip(types);
    let functions = functions.filter(|(_, kind)| matches!(kind, b't' | b'T'));
    let named = functions.filter_map(|(symbol, _)| {
        let name = name_at(memory, names.wrapping_add(number(&symbol[..4])))?;
        let (address, length) = (number(&symbol[8..16]), number(&symbol[16..24]));
        (length > 0).then(|| ModuleFunction { address, length, name: format!("{name} [{module_name}]") })
    });
    Some(named.collect())
}

/// A name may end shortly before what is mapped.
fn name_at(memory: &GuestMemory<'_>, address: u64) -> Option<String> {
    memory.text(address, SYMBOL_NAME_BYTES).or_else(|| memory.text(address, 32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest_memory::PhysicalMemory;
    use crate::kallsyms::Symbols;
    use crate::structures::{self, Structures};

    struct NoMemory;

    impl PhysicalMemory for NoMemory {
        fn read(&self, _: u64, _: &mut [u8]) -> bool {
            false
        }
    }

    #[test]
    fn a_kernel_that_is_built_without_modules_has_none() {
        let structures = Structures::of(&structures::tests::section()).unwrap();
        let kernel = KernelImage { symbols: Symbols::from_all(std::iter::empty()), structures };
        assert!(functions(&kernel, &GuestMemory::of(&NoMemory, 0)).unwrap().is_empty());
    }
}
