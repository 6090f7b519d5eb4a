//! The stack of a thread as functions of its process's files.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use framehop::{
    CacheNative, MayAllocateDuringUnwind, Module, UnwindRegsNative, Unwinder as _, UnwinderNative,
};
use tardy_sys::clock::monotonic_ns;
use tardy_sys::perf_event::{Registers, Sample};
use tardy_sys::processes;

use crate::binary::Binary;
use crate::elf::{Budget, Content};
use crate::mappings::{self, CodeMapping};
use crate::place::{self, Frame, Owner};
use crate::source_lines::Line;

/// The most functions of a stack that are looked at.
const FRAMES_MAX: usize = 64;
/// The least time between two readings of a process's mappings.
const READ_AGAIN_NS: u64 = 1_000_000_000;

/// A process's code.
pub struct Code {
    pid: u32,
    /// Its executable file, as its mappings have it.
    executable: Option<String>,
    mapped: Vec<Mapped>,
    unwinder: UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>,
    cache: CacheNative<MayAllocateDuringUnwind>,
    read_ns: u64,
    /// Of the bytes of all files.
    budget: Rc<Budget>,
}

/// A mapping with its file.
struct Mapped {
    mapping: CodeMapping,
    binary: Rc<Binary>,
    bias: u64,
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Code")
            .field("pid", &self.pid)
            .field("executable", &self.executable)
            .finish_non_exhaustive()
    }
}

impl Code {
    /// That of the process `pid` now. It has none if the process has ended. What is read is subtracted from `budget`.
    pub fn of(pid: u32, budget: &Rc<Budget>) -> Self {
        let mut code = Self::empty(pid, budget);
        code.read();
        code
    }

    /// A process that has mapped one file, which is its program.
    pub fn of_file(mapping: CodeMapping, content: Content, budget: &Rc<Budget>) -> Self {
        let mut code = Self::empty(mapping.pid(), budget);
        code.executable = Some(mapping.path.clone());
        code.read_ns = u64::MAX;
        if let Some(binary) = Binary::read(content, budget) {
            code.add(mapping, Rc::new(binary));
        }
        code
    }

    fn empty(pid: u32, budget: &Rc<Budget>) -> Self {
        Self {
            pid,
            executable: None,
            mapped: Vec::new(),
            unwinder: UnwinderNative::new(),
            cache: CacheNative::new(),
            read_ns: 0,
            budget: Rc::clone(budget),
        }
    }

    /// The place in the program at which a thread of the process blocked.
    pub fn place(&mut self, sample: &Sample) -> Option<String> {
        // A library that was loaded since.
        if self.mapped_at(sample.registers.instruction).is_none()
            && monotonic_ns().saturating_sub(self.read_ns) > READ_AGAIN_NS
        {
            self.read();
        }
        let addresses = self.stack(sample);
        place::innermost(addresses.into_iter().flat_map(|(address, lookup)| self.frames(address, lookup)))
    }

    /// Reads the process's mappings, and the files that are new among them.
    fn read(&mut self) {
        self.read_ns = monotonic_ns();
        let mappings = mappings::code_of(self.pid);
        let is_known = mappings.iter().eq(self.mapped.iter().map(|mapped| &mapped.mapping));
        // A process that has ended keeps its last ones.
        if mappings.is_empty() || is_known {
            return;
        }
        let mut files: BTreeMap<String, Rc<Binary>> = std::mem::take(&mut self.mapped)
            .into_iter()
            .map(|mapped| (mapped.mapping.identity, mapped.binary))
            .collect();
        self.executable = processes::executable_of(self.pid);
        (self.unwinder, self.cache) = (UnwinderNative::new(), CacheNative::new());
        for mapping in mappings {
            let binary = match files.get(&mapping.identity) {
                Some(binary) => Rc::clone(binary),
                None => {
                    let read = |file| Binary::read(Content::File(file), &self.budget);
                    let Some(binary) = mapping.open().ok().and_then(read) else { continue };
                    let binary = Rc::new(binary);
                    files.insert(mapping.identity.clone(), Rc::clone(&binary));
                    binary
                }
            };
            self.add(mapping, binary);
        }
    }

    fn add(&mut self, mapping: CodeMapping, binary: Rc<Binary>) {
        let Some(bias) = binary.bias(mapping.addresses.start, mapping.offset) else { return };
        let module = Module::new(mapping.path.clone(), mapping.addresses.clone(), bias, binary.tables());
        self.unwinder.add_module(module);
        self.mapped.push(Mapped { mapping, binary, bias });
    }

    fn mapped_at(&self, address: u64) -> Option<&Mapped> {
        self.mapped.iter().find(|mapped| mapped.mapping.addresses.contains(&address))
    }

    /// The addresses of a stack, the innermost first, each with the one by which its function is found.
    fn stack(&mut self, sample: &Sample) -> Vec<(u64, u64)> {
        let Sample { registers, stack, .. } = sample;
        let mut read = |address: u64| {
            let at = usize::try_from(address.wrapping_sub(registers.stack)).map_err(|_| ())?;
            let end = at.checked_add(8).ok_or(())?;
            let bytes = stack.get(at..end).ok_or(())?;
            bytes.try_into().map(u64::from_le_bytes).map_err(|_| ())
        };
        let own = unwind_registers(registers, self.unwinder.max_known_code_address());
        let Self { unwinder, cache, .. } = self;
        let mut frames = unwinder.iter_frames(registers.instruction, own, cache, &mut read);
        let mut addresses = Vec::new();
        // What is beyond the copied part of the stack is an error, and what is before it is known.
        while let Ok(Some(frame)) = frames.next() {
            addresses.push((frame.address(), frame.address_for_lookup()));
            if addresses.len() >= FRAMES_MAX {
                break;
            }
        }
        addresses
    }

    /// The functions of an address, the innermost first: several, if the compiler put one into the other and debug information names
    /// them.
    fn frames(&self, address: u64, lookup: u64) -> Vec<Frame> {
        let Some(Mapped { mapping, binary, bias }) = self.mapped_at(lookup) else { return Vec::new() };
        let path = mapping.path.strip_suffix(" (deleted)").unwrap_or(&mapping.path);
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_program = self.executable.as_deref() == Some(mapping.path.as_str());
        let is_static = is_program && binary.has_no_linker;
        let owner = |function: Option<&str>| Owner::of(name, is_program, is_static, function);
        let in_file = lookup.wrapping_sub(*bias);
        if owner(None) == Owner::System || is_program && binary.is_start(in_file) {
            return Vec::new();
        }
        let lines = binary.lines(in_file);
        if !lines.is_empty() {
            let frame = |line: &Line| Frame {
                owner: owner(Some(&line.function)),
                text: place::text_with_line(&line.function, &line.file, line.number),
            };
            return lines.iter().map(frame).collect();
        }
        let function = binary.function(in_file);
        let function = function.as_ref().map(|(function, offset)| (function.as_str(), *offset));
        // The return address is shown, as debuggers show it.
        let shown = function.map(|(function, offset)| (function, offset + address.saturating_sub(lookup)));
        let text = place::text(name, shown, address.wrapping_sub(*bias));
        vec![Frame { owner: owner(function.map(|(name, _)| name)), text }]
    }
}

#[cfg(target_arch = "x86_64")]
fn unwind_registers(registers: &Registers, _code_end: u64) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.instruction, registers.stack, registers.frame)
}

#[cfg(target_arch = "aarch64")]
fn unwind_registers(registers: &Registers, code_end: u64) -> UnwindRegsNative {
    // Return addresses may be signed in the bits above those of addresses.
    let mask = framehop::aarch64::PtrAuthMask::from_max_known_address(code_end);
    UnwindRegsNative::new_with_ptr_auth_mask(mask, registers.link, registers.stack, registers.frame)
}
