//! Which function of a stack is the place in the program, and how it is written.
//!
//! Functions of the C library, of the dynamic linker, of the vDSO and of a language's run-time lie between the program and the
//! kernel. A program that is linked statically has them in its own file, where only their names distinguish them.

/// Files of libraries that are never a place, by the begin of their names: those of C, C++ and their run-times.
const RUN_TIMES: [&str; 16] = [
    "ld-",
    "ld.so",
    "ld64.so",
    "libc.so",
    "libc-",
    "libc.musl",
    "libpthread",
    "librt.so",
    "librt-",
    "libstdc++",
    "libc++",
    "libgcc_s",
    "libgomp",
    "libasan",
    "libtsan",
    "libubsan",
];

/// The characters of a function's name that are shown. With C++'s templates one can have thousands.
const NAME_MAX: usize = 120;

/// The crates of Rust's standard library.
const RUST_CRATES: [&str; 3] = ["std", "core", "alloc"];

/// Whose a function is, the most wanted last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// The C library's, the dynamic linker's, or a run-time's that has a file of its own.
    System,
    /// A run-time's that is part of the program's file.
    RunTime,
    /// Another library's.
    Library,
    /// The program's.
    Program,
}

impl Owner {
    /// The owner of a function of the file `name`, which is the program's own or that of a library. `is_static` is whether the program
    /// contains its C library.
    pub fn of(name: &str, is_program: bool, is_static: bool, function: Option<&str>) -> Self {
        let is_of_run_time = |function: &str| is_of_rust(function) || is_of_cpp(function);
        match (is_program, function) {
            (false, _) if RUN_TIMES.iter().any(|known| name.starts_with(known)) => Self::System,
            (true, Some(function)) if is_of_run_time(function) || is_static && is_of_c(function) => {
                Self::RunTime
            }
            (true, _) => Self::Program,
            (false, Some(function)) if is_of_run_time(function) => Self::RunTime,
            (false, _) => Self::Library,
        }
    }
}

/// A function of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Whose it is.
    pub owner: Owner,
    /// The place: `write_late+0x2a in control`, or `write_late at control.c:203`.
    pub text: String,
}

/// The place in the program: the innermost function of the program, or else of a library, or else of a run-time in the
/// program's file. `frames` are the innermost first, and are read only up to the program's first.
pub fn innermost(frames: impl IntoIterator<Item = Frame>) -> Option<String> {
    let mut best: Option<Frame> = None;
    for frame in frames {
        if frame.owner > best.as_ref().map_or(Owner::System, |best| best.owner) {
            let is_final = frame.owner == Owner::Program;
            best = Some(frame);
            if is_final {
                break;
            }
        }
    }
    best.map(|frame| frame.text)
}

/// A place with its line of source code.
pub fn text_with_line(function: &str, file: &str, line: u32) -> String {
    format!("{} at {file}:{line}", readable(function))
}

/// A place in the file `name`: an offset in a function, or else an address in the file.
pub fn text(name: &str, function: Option<(&str, u64)>, address: u64) -> String {
    match function {
        Some((function, offset)) => format!("{}+{offset:#x} in {name}", readable(function)),
        None => format!("{name}+{address:#x}"),
    }
}

/// The name of a function as it stands in source code, from that of linkers, without parameters. A longer one than [`NAME_MAX`] is cut.
fn readable(function: &str) -> String {
    let name = addr2line::demangle_auto(function.into(), None);
    let name = without_parameters(&name);
    match name.char_indices().nth(NAME_MAX) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

/// The name of a C++ function before the parentheses at its end.
fn without_parameters(name: &str) -> &str {
    let mut depth = 0;
    for (at, character) in name.trim_end_matches(" const").char_indices().rev() {
        match character {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if character == '(' && at > 0 { &name[..at] } else { name };
        }
    }
    name
}

/// Whether a mangled name is of Rust's standard library: `_ZN3std...`, `_ZN58_$LT$std..fs..File$u20$as...` (the legacy form), or
/// `_RNvNtCs..._3std...` (version 0, in which the first crate is that of the function or of its type).
fn is_of_rust(function: &str) -> bool {
    if let Some(path) = function.strip_prefix("_ZN") {
        let first = path.trim_start_matches(|c: char| c.is_ascii_digit());
        let length: usize = path[..path.len() - first.len()].parse().unwrap_or(0);
        let Some(first) = first.get(..length) else { return false };
        let of_type = first
            .strip_prefix("_$LT$")
            .map(|of| of.trim_start_matches("$RF$").trim_start_matches("mut$u20$"));
        return match of_type {
            Some(of) => RUST_CRATES
                .iter()
                .any(|name| of.strip_prefix(name).is_some_and(|rest| rest.starts_with(".."))),
            None => RUST_CRATES.contains(&first),
        };
    }
    let Some(path) = function.strip_prefix("_R") else { return false };
    // A crate's name follows its number: `Cs`, a base-62 number, `_`, the length, the name.
    let Some(first_crate) = path.find("Cs").and_then(|at| Some(at + path[at..].find('_')?)) else {
        return false;
    };
    RUST_CRATES.iter().any(|name| path.find(&format!("_{}{name}", name.len())) == Some(first_crate))
}

/// Whether a mangled name is of C++'s standard library, whose templates are compiled into programs.
fn is_of_cpp(function: &str) -> bool {
    /// libstdc++'s names for the functions of threads, which are in its headers: `_ZL20__gthread_mutex_lockP15pthread_mutex_t`.
    const OF_THREADS: &str = "__gthread_";
    ["_ZSt", "_ZNSt", "_ZNKSt", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx", OF_THREADS]
        .iter()
        .any(|begin| function.starts_with(begin))
        || function.starts_with("_ZL") && function.contains(OF_THREADS)
}

/// Whether a function is of the C library: a name that is reserved for it, a system call's, or one of its threads.
fn is_of_c(function: &str) -> bool {
    const OF_THREADS: [&str; 6] = ["pthread_", "sem_", "mtx_", "cnd_", "_IO_", "__"];
    const OF_FILES: [&str; 9] =
        ["fwrite", "fread", "fflush", "fprintf", "vfprintf", "printf", "puts", "syscall", "usleep"];
    OF_THREADS.iter().any(|begin| function.starts_with(begin))
        || OF_FILES.contains(&function)
        || tardy_sys::system_calls::number(function).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(name: &str, is_program: bool, function: &str) -> Frame {
        Frame {
            owner: Owner::of(name, is_program, false, Some(function)),
            text: format!("{function} in {name}"),
        }
    }

    #[test]
    fn the_place_is_the_innermost_function_of_the_program() {
        let libc = [frame("libc.so.6", false, "write"), frame("ld-linux-x86-64.so.2", false, "start")];
        let library = frame("libmodbus.so.5", false, "send");
        let program = [frame("control", true, "write_late"), frame("control", true, "main")];
        let place = |frames: &[&[Frame]]| innermost(frames.concat());
        assert_eq!(place(&[&libc, &program]).as_deref(), Some("write_late in control"));
        assert_eq!(
            place(&[&libc, std::slice::from_ref(&library), &program]).as_deref(),
            Some("write_late in control")
        );
        assert_eq!(
            place(&[&libc, std::slice::from_ref(&library), &libc]).as_deref(),
            Some("send in libmodbus.so.5")
        );
        assert_eq!(place(&[&libc]), None);
    }

    #[test]
    fn functions_of_run_times_in_the_programs_file_are_left_out_if_there_are_others() {
        let rust = [
            "_ZN3std3sys2fs4unix4File5write17h0123456789abcdefE",
            "_ZN58_$LT$std..fs..File$u20$as$u20$std..io..Write$GT$5write17h0123456789abcdefE",
            "_RNvMs_NtNtCs2xnmd3gTSLx_3std3sys2fsNtB4_4File5write",
            "_ZNSt13basic_filebufIcSt11char_traitsIcEE8overflowEi",
            "_ZL20__gthread_mutex_lockP15pthread_mutex_t",
            "__gthread_mutex_lock",
        ];
        for function in rust {
            assert_eq!(Owner::of("control", true, false, Some(function)), Owner::RunTime, "{function}");
        }
        let own = [
            "_ZN7control10write_late17h0123456789abcdefE",
            "_ZN57_$LT$control..Log$u20$as$u20$std..io..Write$GT$5write17h0123456789abcdefE",
            "_RNvCs2xnmd3gTSLx_7control10write_late",
            "_RNvXCs2xnmd3gTSLx_7controlNtB2_3LogNtNtCsabc_3std2io5Write5write",
            "_ZN7Control9writeLateEv",
            "write_late",
            "write",
        ];
        for function in own {
            assert_eq!(Owner::of("control", true, false, Some(function)), Owner::Program, "{function}");
        }
        let stack = [frame("control", true, rust[0]), frame("control", true, own[0])];
        assert_eq!(innermost(stack.clone()).as_deref(), Some(stack[1].text.as_str()));
        assert_eq!(innermost(stack[..1].to_vec()).as_deref(), Some(stack[0].text.as_str()));
    }

    #[test]
    fn a_static_program_contains_its_c_library() {
        for function in ["write", "__libc_write", "pthread_mutex_lock", "fsync", "__lll_lock_wait"] {
            assert_eq!(Owner::of("control", true, true, Some(function)), Owner::RunTime, "{function}");
        }
        assert_eq!(Owner::of("control", true, true, Some("write_late")), Owner::Program);
        assert_eq!(Owner::of("control", true, true, None), Owner::Program);
    }

    #[test]
    fn a_place_has_a_function_or_an_address() {
        assert_eq!(text("control", Some(("write_late", 42)), 0x1234), "write_late+0x2a in control");
        assert_eq!(text("control", None, 0x1234), "control+0x1234");
        assert_eq!(text_with_line("write_late", "control.c", 203), "write_late at control.c:203");
    }

    #[test]
    fn names_are_those_of_source_code() {
        for (linked, name) in [
            ("_ZN7Control9writeLateEi", "Control::writeLate"),
            ("_ZNK7Control9writeLateEPFvvE", "Control::writeLate"),
            ("_ZN7ControlclEi", "Control::operator()"),
            ("_ZN12_GLOBAL__N_14lateEv", "(anonymous namespace)::late"),
            ("_ZN7control10write_late17h0123456789abcdefE", "control::write_late"),
            ("_RNvCs2xnmd3gTSLx_7control10write_late", "control::write_late"),
            ("write_late", "write_late"),
            ("_Z", "_Z"),
        ] {
            assert_eq!(text("control", Some((linked, 1)), 0), format!("{name}+0x1 in control"));
        }
        let long = text_with_line(&"x".repeat(500), "a.c", 1);
        assert_eq!(long, format!("{}... at a.c:1", "x".repeat(NAME_MAX)));
    }
}
