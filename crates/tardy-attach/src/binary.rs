//! What unwinding and naming need of an executable file or a library: its segments, its functions and its tables of frames.

use std::cell::OnceCell;
use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use framehop::ExplicitModuleSectionInfo;
use object::elf::{PF_X, PT_INTERP};
use object::read::elf::{ElfFile64, ElfSegment64, ProgramHeader};
use object::{
    Endianness, Object, ObjectSection, ObjectSegment, ObjectSymbol, ReadCache, SegmentFlags, SymbolKind,
};

use crate::source_lines::{Line, SECTION_MAX, SourceLines};

/// Where distributions install debug information as files of their own.
const DEBUG_FILES: &str = "/usr/lib/debug";

/// A file of code.
pub struct Binary {
    /// Kept open for its debug information, which is read when it is needed first.
    file: File,
    /// The file that has it if it is not in `file`.
    debug_file: Option<File>,
    lines: OnceCell<Option<SourceLines>>,
    /// Whether no dynamic linker loads it: it is a static program, or a library.
    pub has_no_linker: bool,
    /// Where the program begins.
    entry: u64,
    /// Address and offset of each segment of code, and its bytes in the file.
    segments: Vec<(u64, u64, u64)>,
    /// Functions by address.
    functions: Vec<Function>,
    tables: Tables,
}

impl fmt::Debug for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Binary").field("file", &self.file).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Function {
    address: u64,
    bytes: u64,
    name: String,
}

/// A section's addresses and content.
type Section = (Range<u64>, Arc<[u8]>);

#[derive(Debug, Default)]
struct Tables {
    eh_frame: Option<Section>,
    eh_frame_hdr: Option<Section>,
    debug_frame: Option<Section>,
    text: Option<Range<u64>>,
    got: Option<Range<u64>>,
}

impl Binary {
    /// Reads a file; `None` if it is not an ELF file of 64 bits. What was split off it is read where distributions install it.
    pub fn read(file: File) -> Option<Self> {
        Self::read_with(file, Path::new(DEBUG_FILES))
    }

    fn read_with(file: File, debug_files: &Path) -> Option<Self> {
        let cache = ReadCache::new(&file);
        let elf = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
        let content = |name: &str| {
            let section = elf.section_by_name(name).filter(|section| section.size() <= SECTION_MAX)?;
            let (start, data) = (section.address(), section.data().ok()?);
            Some((start..start + data.len() as u64, Arc::from(data)))
        };
        let addresses = |name: &str| {
            let section = elf.section_by_name(name)?;
            Some(section.address()..section.address().checked_add(section.size())?)
        };
        let tables = Tables {
            eh_frame: content(".eh_frame"),
            eh_frame_hdr: content(".eh_frame_hdr"),
            debug_frame: content(".debug_frame"),
            text: addresses(".text"),
            got: addresses(".got"),
        };
        let is_code = |segment: &ElfSegment64<'_, '_, _, _>| matches!(segment.flags(), SegmentFlags::Elf { p_flags } if p_flags & PF_X != 0);
        let segments = elf.segments().filter(is_code).map(|segment| {
            let (offset, bytes) = segment.file_range();
            (segment.address(), offset, bytes)
        });
        let endian = elf.endian();
        let has_linker = elf.elf_program_headers().iter().any(|header| header.p_type(endian) == PT_INTERP);
        let are_too_long =
            elf.sections().any(|section| section.size() > SECTION_MAX && section.address() == 0);
        let (segments, has_no_linker) = (segments.collect(), !has_linker);
        let debug_file = debug_file(&elf, debug_files);
        let mut functions = if are_too_long { Vec::new() } else { functions(&elf) };
        functions.extend(debug_file.iter().flat_map(functions_of));
        one_for_each_address(&mut functions);
        let entry = elf.entry();
        Some(Self {
            entry,
            lines: OnceCell::new(),
            has_no_linker,
            segments,
            functions,
            tables,
            debug_file,
            file,
        })
    }

    /// What is added to the file's addresses in a process that has mapped it from `offset` on at the address `start`. It wraps.
    pub fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        // A mapping begins at a page, up to 64 KiB long, in which its segment may begin later.
        const PAGE_MAX: u64 = 1 << 16;
        let holds = |(_, at, bytes): &&(u64, u64, u64)| {
            *at < offset.saturating_add(PAGE_MAX) && offset < at.saturating_add(*bytes)
        };
        let (address, at, _) = self.segments.iter().find(holds)?;
        Some(start.wrapping_sub(offset).wrapping_sub(address.wrapping_sub(*at)))
    }

    /// The function with this address of the file, and the distance from its begin.
    pub fn function(&self, address: u64) -> Option<(&str, u64)> {
        let after = self.functions.partition_point(|function| function.address <= address);
        let function = self.functions[..after].last()?;
        let offset = address - function.address;
        (offset < function.bytes).then_some((function.name.as_str(), offset))
    }

    /// Whether an address is in the code that calls `main`, which the C library puts into every program. It has no more than 52 bytes
    /// on the processors whose stacks are unwound.
    pub fn is_start(&self, address: u64) -> bool {
        address.wrapping_sub(self.entry) < 52
    }

    /// The functions that an address is in, with their lines, the innermost first; empty without debug information.
    pub fn lines(&self, address: u64) -> Vec<Line> {
        let is_code =
            |(from, _, bytes): &(u64, u64, u64)| (*from..from.saturating_add(*bytes)).contains(&address);
        if !self.segments.iter().any(is_code) {
            return Vec::new();
        }
        let lines = self.lines.get_or_init(|| {
            SourceLines::read(&self.file).or_else(|| SourceLines::read(self.debug_file.as_ref()?))
        });
        lines.as_ref().map_or_else(Vec::new, |lines| lines.at(address))
    }

    /// The tables, as framehop takes them.
    pub fn tables(&self) -> ExplicitModuleSectionInfo<Arc<[u8]>> {
        let range = |section: &Option<Section>| section.as_ref().map(|(addresses, _)| addresses.clone());
        let data = |section: &Option<Section>| section.as_ref().map(|(_, data)| Arc::clone(data));
        let Tables { eh_frame, eh_frame_hdr, debug_frame, text, got } = &self.tables;
        ExplicitModuleSectionInfo {
            text_svma: text.clone(),
            got_svma: got.clone(),
            eh_frame_svma: range(eh_frame),
            eh_frame: data(eh_frame),
            eh_frame_hdr_svma: range(eh_frame_hdr),
            eh_frame_hdr: data(eh_frame_hdr),
            debug_frame: data(debug_frame),
            ..ExplicitModuleSectionInfo::default()
        }
    }
}

/// The file with the symbols and the debug information that were split off a file: it has the same number, which the linker computed
/// from the content (`ld --build-id`).
fn debug_file<'a>(elf: &ElfFile64<'a, Endianness, &'a ReadCache<&File>>, debug_files: &Path) -> Option<File> {
    let number: String = elf.build_id().ok()??.iter().map(|byte| format!("{byte:02x}")).collect();
    let (directory, rest) = number.split_at_checked(2)?;
    File::open(debug_files.join(".build-id").join(directory).join(format!("{rest}.debug"))).ok()
}

fn functions_of(file: &File) -> Vec<Function> {
    let cache = ReadCache::new(file);
    let elf = ElfFile64::parse(&cache).ok();
    elf.filter(|elf| elf.sections().all(|section| section.size() <= SECTION_MAX))
        .map_or_else(Vec::new, |elf| functions(&elf))
}

/// The functions of both symbol tables.
fn functions<'a>(elf: &ElfFile64<'a, Endianness, &'a ReadCache<&File>>) -> Vec<Function> {
    elf.symbols()
        .chain(elf.dynamic_symbols())
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition() && symbol.size() > 0)
        .filter_map(|symbol| {
            let name = symbol.name().ok()?.to_owned();
            Some(Function { address: symbol.address(), bytes: symbol.size(), name })
        })
        .collect()
}

fn one_for_each_address(functions: &mut Vec<Function>) {
    // Of several names the one without underscores is the one that programs use.
    functions.sort_by(|a, b| {
        let by_name = || (a.name.starts_with('_'), &a.name).cmp(&(b.name.starts_with('_'), &b.name));
        a.address.cmp(&b.address).then_with(by_name)
    });
    functions.dedup_by_key(|function| function.address);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_has_this_function_at_its_address() {
        let address = this_program_has_this_function_at_its_address as *const () as u64;
        let own = crate::mappings::code_of(std::process::id());
        let mapping = own.into_iter().find(|mapping| mapping.addresses.contains(&address)).unwrap();
        let binary = Binary::read(File::open(&mapping.path).unwrap()).unwrap();
        let bias = binary.bias(mapping.addresses.start, mapping.offset).unwrap();
        let (name, offset) = binary.function(address - bias).unwrap();
        assert!(name.contains("this_program_has_this_function_at_its_address"), "{name}");
        assert_eq!(offset, 0);
        assert!(!binary.has_no_linker || cfg!(target_feature = "crt-static"));
        let start = binary.functions.iter().find(|function| function.name == "_start").unwrap();
        assert!(binary.is_start(start.address) && binary.is_start(start.address + start.bytes - 1));
        assert!(!binary.is_start(start.address - 1) && !binary.is_start(address - bias));
        assert!(binary.tables().eh_frame.is_some());
        assert_eq!(binary.function(u64::MAX), None);
    }

    /// A program in whose function `outer` the compiler puts `inner`.
    const TWO: &str = "static inline __attribute__((always_inline)) int inner(volatile int *at)\n{\n\treturn *at + 1;\n}\n\
                       int outer(volatile int *at)\n{\n\treturn inner(at);\n}\nint main(void)\n{\n\treturn 0;\n}\n";

    /// Runs a command of the compiler's package; `None`, with the reason printed, if it is not there.
    fn run(name: &str, arguments: &[&str], place: &Path) -> Option<()> {
        let status = std::process::Command::new(name).args(arguments).current_dir(place).status();
        let Ok(status) = status else {
            eprintln!("skipped: {name} is not installed");
            return None;
        };
        assert!(status.success(), "{name} {arguments:?}");
        Some(())
    }

    fn built(flags: &[&str], place: &Path) -> Option<()> {
        std::fs::write(place.join("two.c"), TWO).unwrap();
        run("cc", &[&["-g", "-O1", "-Wl,--build-id=0xabcdef", "-o", "two", "two.c"], flags].concat(), place)
    }

    fn names_both_functions(binary: &Binary) {
        let outer = binary.functions.iter().find(|function| function.name == "outer").unwrap();
        let line =
            |function: &str, number| Line { function: function.to_owned(), file: "two.c".to_owned(), number };
        let found: Vec<_> =
            (outer.address..outer.address + outer.bytes).map(|address| binary.lines(address)).collect();
        assert!(found.contains(&vec![line("inner", 3), line("outer", 7)]), "{found:?}");
        assert_eq!(binary.lines(u64::MAX), []);
    }

    fn bench(name: &str) -> std::path::PathBuf {
        let bench = std::env::temp_dir().join(format!("tardy-{name}-{}", std::process::id()));
        std::fs::create_dir(&bench).unwrap();
        bench
    }

    #[test]
    fn an_address_of_a_program_with_debug_information_has_a_line() {
        let bench = bench("lines");
        for compression in ["-gz=none", "-gz=zlib"] {
            if built(&[compression], &bench).is_some() {
                names_both_functions(&Binary::read(File::open(bench.join("two")).unwrap()).unwrap());
            }
        }
        std::fs::remove_dir_all(&bench).unwrap();
    }

    #[test]
    fn debug_information_is_found_where_it_was_split_off() {
        let bench = bench("split");
        let debug_files = bench.join("debug");
        std::fs::create_dir_all(debug_files.join(".build-id/ab")).unwrap();
        let split = || {
            built(&[], &bench)?;
            run("objcopy", &["--only-keep-debug", "two", "debug/.build-id/ab/cdef.debug"], &bench)?;
            run("strip", &["two"], &bench)
        };
        if split().is_some() {
            let file = || File::open(bench.join("two")).unwrap();
            names_both_functions(&Binary::read_with(file(), &debug_files).unwrap());
            let alone = Binary::read(file()).unwrap();
            assert!(alone.functions.iter().all(|function| function.name != "outer"));
        }
        std::fs::remove_dir_all(&bench).unwrap();
    }
}
