//! What unwinding and naming need of an executable file or a library: its segments, its functions and its tables of frames.

use std::cell::OnceCell;
use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use framehop::ExplicitModuleSectionInfo;

use crate::elf::{self, Budget, Content, Elf, Note, SECTION_MAX, Section, number};
use crate::source_lines::{Line, SourceLines};

/// Where distributions install debug information as files of their own.
const DEBUG_FILES: &str = "/usr/lib/debug";
/// The longest section with a number that the linker computed.
const BUILD_ID_MAX: u64 = 4096;
/// Its note's type and owner.
const BUILD_ID: u64 = 3;
const BUILD_ID_OWNER: &[u8] = b"GNU\0";
/// Types of sections with symbols, whose name's section is the linked one.
const SYMBOLS: [u64; 2] = [2, 11];
/// The type of a symbol that is a function, in the low bits of its information.
const FUNCTION: u8 = 2;
/// Bytes of a symbol.
const SYMBOL_BYTES: usize = 24;

/// A file of code.
pub struct Binary {
    /// Kept open for its debug information, which is read when it is needed first.
    content: Content,
    /// The file that has it if it is not in `content`.
    debug_file: Option<Content>,
    budget: Rc<Budget>,
    lines: OnceCell<Option<SourceLines>>,
    /// Whether no dynamic linker loads it: it is a static program, or a library.
    pub has_no_linker: bool,
    /// Where the program begins.
    entry: u64,
    /// Address and offset of each segment of code, and its bytes in the file.
    segments: Vec<(u64, u64, u64)>,
    /// Functions by address.
    functions: Vec<Function>,
    /// The names of functions, each ended by a NUL.
    names: Vec<Arc<[u8]>>,
    tables: Tables,
}

impl fmt::Debug for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Binary").field("content", &self.content).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Function {
    address: u64,
    bytes: u64,
    /// Where its name is in which table of names.
    name: (u32, u32),
}

/// A section's addresses and content.
type Contents = (Range<u64>, Arc<[u8]>);

#[derive(Debug, Default)]
struct Tables {
    eh_frame: Option<Contents>,
    eh_frame_hdr: Option<Range<u64>>,
    debug_frame: Option<Contents>,
    text: Option<Range<u64>>,
    got: Option<Range<u64>>,
}

impl Binary {
    /// Reads a file; `None` if it is not an ELF file of 64 bits, or exceeds a limit. What was split off it is read where
    /// distributions install it. What is read is subtracted from `budget`.
    pub fn read(content: Content, budget: &Rc<Budget>) -> Option<Self> {
        Self::read_with(content, Path::new(DEBUG_FILES), budget)
    }

    fn read_with(content: Content, debug_files: &Path, budget: &Rc<Budget>) -> Option<Self> {
        let elf = Elf::read(&content, budget).filter(|elf| elf.is_64)?;
        let contents = |name: &str| {
            let section = elf.section(name)?;
            Some((section.addresses(), section.content(&content, SECTION_MAX, budget)?))
        };
        let addresses = |name: &str| elf.section(name).map(Section::addresses);
        let tables = Tables {
            eh_frame: contents(".eh_frame"),
            eh_frame_hdr: addresses(".eh_frame_hdr"),
            debug_frame: contents(".debug_frame"),
            text: addresses(".text"),
            got: addresses(".got"),
        };
        let is_code =
            |segment: &&elf::Segment| segment.kind == elf::LOAD && segment.flags & elf::IS_CODE != 0;
        let segments = elf.segments.iter().filter(is_code);
        let segments = segments.map(|segment| (segment.address, segment.offset, segment.bytes)).collect();
        let has_no_linker = elf.segments.iter().all(|segment| segment.kind != elf::INTERPRETER);
        let debug_file = debug_file(&elf, &content, debug_files, budget);
        let mut functions = Functions::default();
        functions.add(&elf, &content, budget);
        if let Some(debug_file) = &debug_file
            && let Some(elf) = Elf::read(debug_file, budget).filter(|elf| elf.is_64)
        {
            functions.add(&elf, debug_file, budget);
        }
        let Functions { mut functions, names } = functions;
        one_for_each_address(&mut functions, &names);
        Some(Self {
            entry: elf.entry,
            lines: OnceCell::new(),
            has_no_linker,
            segments,
            functions,
            names,
            tables,
            debug_file,
            budget: Rc::clone(budget),
            content,
        })
    }

    /// What is added to the file's addresses in a process that has mapped it from `offset` on at the address `start`; `None` if no segment
    /// of code is there.
    pub fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        // A mapping begins at a page, up to 64 KiB long, in which its segment may begin later.
        const PAGE_MAX: u64 = 1 << 16;
        let holds = |(_, at, bytes): &&(u64, u64, u64)| {
            *at < offset.saturating_add(PAGE_MAX) && offset < at.saturating_add(*bytes)
        };
        let (address, at, _) = self.segments.iter().find(holds)?;
        start.checked_add(*at)?.checked_sub(offset)?.checked_sub(*address)
    }

    /// The function with this address of the file, and the distance from its begin.
    pub fn function(&self, address: u64) -> Option<(String, u64)> {
        let after = self.functions.partition_point(|function| function.address <= address);
        let function = self.functions[..after].last()?;
        let offset = address - function.address;
        let name = function.name(&self.names);
        (offset < function.bytes && !name.is_empty()).then_some((name, offset))
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
            let read = |content| SourceLines::read(content, &self.budget);
            read(&self.content).or_else(|| read(self.debug_file.as_ref()?))
        });
        lines.as_ref().map_or_else(Vec::new, |lines| lines.at(address))
    }

    /// The tables, as framehop takes them.
    pub fn tables(&self) -> ExplicitModuleSectionInfo<Arc<[u8]>> {
        let range = |section: &Option<Contents>| section.as_ref().map(|(addresses, _)| addresses.clone());
        let data = |section: &Option<Contents>| section.as_ref().map(|(_, data)| Arc::clone(data));
        let Tables { eh_frame, eh_frame_hdr, debug_frame, text, got } = &self.tables;
        ExplicitModuleSectionInfo {
            text_svma: text.clone(),
            got_svma: got.clone(),
            eh_frame_svma: range(eh_frame),
            eh_frame: data(eh_frame),
            // Only its place: framehop believes the search table in its content, whose addresses may lie before the section, and makes
            // its own from what the other sections have.
            eh_frame_hdr_svma: eh_frame_hdr.clone(),
            debug_frame: data(debug_frame),
            ..ExplicitModuleSectionInfo::default()
        }
    }
}

/// The file with the symbols and the debug information that were split off a file: it has the same number, which the linker computed
/// from the content (`ld --build-id`).
fn debug_file(elf: &Elf, content: &Content, debug_files: &Path, budget: &Budget) -> Option<Content> {
    let notes = elf.section(".note.gnu.build-id")?.content(content, BUILD_ID_MAX, budget)?;
    let (note, _) = Note::first(&notes)?;
    let is_number = note.kind == BUILD_ID && note.owner == BUILD_ID_OWNER;
    // Of the usual ones, SHA-1 is the longest.
    let bytes = Some(note.content).filter(|bytes| is_number && (2..=20).contains(&bytes.len()))?;
    let number: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let (directory, rest) = number.split_at_checked(2)?;
    let path = debug_files.join(".build-id").join(directory).join(format!("{rest}.debug"));
    File::open(path).ok().map(Content::File)
}

/// The functions of symbol tables.
#[derive(Debug, Default)]
struct Functions {
    functions: Vec<Function>,
    names: Vec<Arc<[u8]>>,
}

impl Functions {
    /// Adds those of both symbol tables of a file.
    fn add(&mut self, elf: &Elf, content: &Content, budget: &Budget) {
        for kind in SYMBOLS {
            let table = elf.sections.iter().find(|section| section.kind == kind);
            let read = |section: &Section| section.content(content, SECTION_MAX, budget);
            let Some(table) = table else { continue };
            let linked = usize::try_from(table.link).ok().and_then(|link| elf.sections.get(link));
            // Before the names: what a symbol takes here is about its size in the file.
            let Some((symbols, names)) = read(table)
                .filter(|symbols| budget.take(symbols.len() as u64).is_some())
                .zip(linked.and_then(read))
            else {
                continue;
            };
            let index = self.names.len() as u32;
            self.functions
                .extend(symbols.chunks_exact(SYMBOL_BYTES).filter_map(|symbol| Function::of(symbol, index)));
            self.names.push(names);
        }
    }
}

impl Function {
    /// That of a symbol; `None` for data, and for a function of another file.
    fn of(symbol: &[u8], names: u32) -> Option<Self> {
        let [name, section] = [(0, 4), (6, 2)].map(|(at, bytes)| number(symbol, at, bytes));
        let [address, bytes] = [8, 16].map(|at| number(symbol, at, 8));
        let function = Self { address: address?, bytes: bytes?, name: (names, u32::try_from(name?).ok()?) };
        (symbol[4] & 0xf == FUNCTION && section? != 0 && function.bytes > 0).then_some(function)
    }

    fn name(&self, names: &[Arc<[u8]>]) -> String {
        let (table, at) = self.name;
        names.get(table as usize).map_or_else(String::new, |names| elf::text_at(names, u64::from(at)))
    }
}

fn one_for_each_address(functions: &mut Vec<Function>, names: &[Arc<[u8]>]) {
    functions.sort_unstable_by_key(|function| function.address);
    // Of several names the one without underscores is the one that programs use. Many functions of one address are a file that is
    // made to keep its readers busy.
    const NAMES_MAX: usize = 64;
    let mut kept: Vec<Function> = Vec::new();
    let mut same = 0;
    for function in functions.drain(..) {
        match kept.last_mut().filter(|last| last.address == function.address) {
            Some(last) => {
                same += 1;
                let rank = |function: &Function| {
                    let name = function.name(names);
                    (name.is_empty(), name.starts_with('_'), name)
                };
                if same < NAMES_MAX && rank(&function) < rank(last) {
                    *last = function;
                }
            }
            None => {
                same = 0;
                kept.push(function);
            }
        }
    }
    *functions = kept;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path, debug_files: &Path) -> Option<Binary> {
        let budget = Rc::new(Budget::new(4 * SECTION_MAX));
        Binary::read_with(Content::File(File::open(path).unwrap()), debug_files, &budget)
    }

    fn named<'b>(binary: &'b Binary, name: &str) -> Option<&'b Function> {
        binary.functions.iter().find(|function| function.name(&binary.names) == name)
    }

    #[test]
    fn this_program_has_this_function_at_its_address() {
        let address = this_program_has_this_function_at_its_address as *const () as u64;
        let own = crate::mappings::code_of(std::process::id());
        let mapping = own.into_iter().find(|mapping| mapping.addresses.contains(&address)).unwrap();
        let binary = read(Path::new(&mapping.path), Path::new(DEBUG_FILES)).unwrap();
        let bias = binary.bias(mapping.addresses.start, mapping.offset).unwrap();
        let (name, offset) = binary.function(address - bias).unwrap();
        assert!(name.contains("this_program_has_this_function_at_its_address"), "{name}");
        assert_eq!(offset, 0);
        assert!(!binary.has_no_linker || cfg!(target_feature = "crt-static"));
        let start = named(&binary, "_start").unwrap();
        assert!(binary.is_start(start.address) && binary.is_start(start.address + start.bytes - 1));
        assert!(!binary.is_start(start.address - 1) && !binary.is_start(address - bias));
        assert!(binary.tables().eh_frame.is_some());
        assert_eq!(binary.function(u64::MAX), None);
    }

    /// Symbols of a section of the test's file, whose names are in the section after it: name, address, bytes.
    fn symbols(all: &[(u32, u64, u64)]) -> Vec<u8> {
        let symbol = |(name, address, bytes): &(u32, u64, u64)| {
            let mut symbol = name.to_ne_bytes().to_vec();
            symbol.extend([FUNCTION, 0]);
            symbol.extend(1u16.to_ne_bytes());
            symbol.extend([*address, *bytes].iter().flat_map(|word| word.to_ne_bytes()));
            symbol
        };
        all.iter().flat_map(symbol).collect()
    }

    #[test]
    fn numbers_that_do_not_fit_are_errors_or_functions_without_a_name() {
        use crate::elf::tests::{TestSection, file};
        let section = |name, kind, address, content| TestSection { name, kind, address, content };
        let read = |sections: &[TestSection<'_>], bytes: u64| {
            Binary::read(Content::Bytes(file(sections).into()), &Rc::new(Budget::new(bytes)))
        };
        for name in [".eh_frame", ".text", ".got"] {
            assert!(read(&[section(name, 1, u64::MAX, b"text")], SECTION_MAX).is_none(), "{name}");
        }
        // The test's files have one table of names, with those of the sections: "_b" is at 19.
        let table =
            symbols(&[(0, 0x1100, u64::MAX), (19, 0x1200, 16), (20, 0x1200, 16), (u32::MAX, u64::MAX, 16)]);
        let sections = [section(".symtab", 2, 0, &table), section("_b", 3, 0, b"")];
        let binary = read(&sections, SECTION_MAX).unwrap();
        assert_eq!(binary.function(0x1234), None, "behind the last one");
        assert_eq!(binary.function(0x120f), Some(("b".to_owned(), 15)), "without an underscore");
        assert_eq!((binary.function(0x11ff), binary.function(u64::MAX)), (None, None), "without a name");
        assert_eq!(read(&sections, 400).map(|binary| binary.function(0x1200)), Some(None), "too many bytes");
        for (start, offset, bias) in [(0, 0, None), (0, u64::MAX, None), (0x40_0000, 0, Some(0x3f_f000))] {
            assert_eq!(binary.bias(start, offset), bias, "{start:#x} {offset:#x}");
        }
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
        let outer = named(binary, "outer").unwrap();
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
                names_both_functions(&read(&bench.join("two"), &bench).unwrap());
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
            let read = |debug_files: &Path| read(&bench.join("two"), debug_files).unwrap();
            names_both_functions(&read(&debug_files));
            assert!(named(&read(&bench), "outer").is_none());
        }
        std::fs::remove_dir_all(&bench).unwrap();
    }
}
