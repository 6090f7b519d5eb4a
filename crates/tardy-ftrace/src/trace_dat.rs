//! trace.dat, version 6: the file of trace-cmd (trace-cmd.dat.v6(5)).
//!
//! The file has the format of each event, the names of tasks and functions, and for each CPU the pages of the kernel's ring
//! buffer. tardy writes the formats itself, with the fields that a run keeps, and 64-bit little-endian pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::event::{self, Field, Kernel, NAME_MAX, Value, task_name};
use crate::excerpt::{Event, Excerpt};

const PAGE: usize = 4096;
/// The head of a page: its time, and the number of bytes in use.
const PAGE_HEAD: usize = 16;
/// The fields that all events have: type, flags, preemption count, pid.
const COMMON: usize = 8;
/// The bits of an event's head that hold the time since the event before it.
const DELTA_BITS: u32 = 27;
/// The type of an event's head without data, whose word extends the time.
const TIME_EXTEND: u32 = 30;
/// The largest number of words of data whose number is the type of the head.
const WORDS_MAX: usize = 28;
/// The address of the first function. Only distinct addresses matter.
const FIRST_FUNCTION: u64 = 0xffff_ffff_8100_0000;
/// The distance of two functions.
const FUNCTION_SIZE: u64 = 0x100;

const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
                           \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
                           \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
                           \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
const HEADER_EVENT: &str = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\
                            \tarray       :   32 bits\n\n\tpadding     : type == 29\n\ttime_extend : type == 30\n\
                            \ttime_stamp : type == 31\n\tdata max type_len  == 28\n";

/// The file of an excerpt.
pub fn write(excerpt: &Excerpt<'_>) -> Vec<u8> {
    let events = excerpt.events();
    let kernel: Vec<Kernel> = events.iter().map(|event| event::of(event, excerpt.cpu)).collect();
    let formats = formats(&kernel);
    let functions = functions(&kernel);
    let mut file = head(excerpt, &formats, &functions);
    let cpus = u64::from(excerpt.cpu) + 1;
    file.extend(u32::try_from(cpus).unwrap_or(u32::MAX).to_le_bytes());
    // No option.
    file.extend(b"options  \0\0\0flyrecord\0");
    let table = file.len();
    let data_at = (table as u64 + cpus * 16).next_multiple_of(PAGE as u64);
    let pages = pages(events.iter().zip(&kernel), &formats, &functions);
    for cpu in 0..cpus {
        let size = if cpu + 1 == cpus { pages.len() as u64 } else { 0 };
        file.extend(data_at.to_le_bytes());
        file.extend(size.to_le_bytes());
    }
    file.resize(data_at as usize, 0);
    file.extend(pages);
    file
}

/// The number of each event.
type Formats<'a> = BTreeMap<(&'static str, &'a str), (u16, &'a Kernel)>;
/// The address of each function.
type Functions<'a> = BTreeMap<&'a str, u64>;

fn formats(events: &[Kernel]) -> Formats<'_> {
    let mut formats = Formats::new();
    for event in events {
        formats.entry((event.system, &event.name)).or_insert((0, event));
    }
    // The kernel's events with a fixed number are below 20.
    for (number, (id, _)) in (20..).zip(formats.values_mut()) {
        *id = number;
    }
    formats
}

fn functions(events: &[Kernel]) -> Functions<'_> {
    let fields = events.iter().flat_map(|event| &event.fields);
    let names: BTreeSet<&str> = fields
        .filter_map(|field| match &field.value {
            Value::Function(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    let address = |(index, name): (u64, &'_ str)| -> u64 {
        let given = name.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        given.unwrap_or(FIRST_FUNCTION + index * FUNCTION_SIZE)
    };
    (0..).zip(names).map(|(index, name)| (name, address((index, name)))).collect()
}

/// The part of the file that does not depend on the number of CPUs.
fn head(excerpt: &Excerpt<'_>, formats: &Formats<'_>, functions: &Functions<'_>) -> Vec<u8> {
    let mut file = b"\x17\x08\x44tracing6\0".to_vec();
    // Little-endian, words of 8 bytes.
    file.extend([0, 8]);
    file.extend((PAGE as u32).to_le_bytes());
    for (name, text) in [("header_page", HEADER_PAGE), ("header_event", HEADER_EVENT)] {
        zero_terminated(&mut file, name);
        sized(&mut file, text);
    }
    // No formats of ftrace's own events.
    file.extend(0u32.to_le_bytes());
    let systems: BTreeSet<&str> = formats.keys().map(|(system, _)| *system).collect();
    file.extend((systems.len() as u32).to_le_bytes());
    for system in systems {
        let of_system = || formats.values().filter(|(_, event)| event.system == system);
        zero_terminated(&mut file, system);
        file.extend((of_system().count() as u32).to_le_bytes());
        of_system().for_each(|(id, event)| sized(&mut file, &format(*id, event)));
    }
    let mut symbols: Vec<(u64, &str)> = functions.iter().map(|(name, address)| (*address, *name)).collect();
    symbols.sort_unstable();
    let symbols: String =
        symbols.iter().map(|(address, name)| format!("{address:016x} T {name}\n")).collect();
    file.extend((symbols.len() as u32).to_le_bytes());
    file.extend(symbols.as_bytes());
    // No formats of trace_printk.
    file.extend(0u32.to_le_bytes());
    let names = excerpt.tasks().into_iter().map(|(tid, name)| format!("{tid} {}\n", task_name(name)));
    sized(&mut file, &names.collect::<String>());
    file
}

fn zero_terminated(file: &mut Vec<u8>, text: &str) {
    file.extend(text.as_bytes());
    file.push(0);
}

fn sized(file: &mut Vec<u8>, text: &str) {
    file.extend((text.len() as u64).to_le_bytes());
    file.extend(text.as_bytes());
}

/// The `format` file of an event.
fn format(id: u16, event: &Kernel) -> String {
    let mut text = format!("name: {}\nID: {id}\nformat:\n", event.name);
    let common = [
        ("unsigned short common_type", 2),
        ("unsigned char common_flags", 1),
        ("unsigned char common_preempt_count", 1),
    ];
    let mut offset = 0;
    for (declaration, size) in common {
        let _ = writeln!(text, "\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:0;");
        offset += size;
    }
    let _ = writeln!(text, "\tfield:int common_pid;\toffset:{offset};\tsize:4;\tsigned:1;\n");
    for (field, offset) in event.fields.iter().zip(offsets(&event.fields)) {
        let (kind, array, signed) = match &field.value {
            Value::Signed(_) => ("int", "", 1),
            Value::Unsigned(_) => ("unsigned int", "", 0),
            Value::Long(_) => ("long", "", 1),
            Value::Name(_) => ("char", "[16]", 0),
            Value::Text(_) => ("__data_loc char[]", "", 0),
            Value::Function(_) => ("void *", "", 0),
        };
        let (name, size) = (field.name, size(&field.value));
        let _ =
            writeln!(text, "\tfield:{kind} {name}{array};\toffset:{offset};\tsize:{size};\tsigned:{signed};");
    }
    let _ = write!(text, "\nprint fmt: {}\n", event.print);
    text
}

fn size(value: &Value) -> usize {
    match value {
        Value::Signed(_) | Value::Unsigned(_) | Value::Text(_) => 4,
        Value::Long(_) | Value::Function(_) => 8,
        Value::Name(_) => NAME_MAX + 1,
    }
}

/// The place of each field, aligned to its size.
fn offsets(fields: &[Field]) -> Vec<usize> {
    let mut end = COMMON;
    let place = |field: &Field| {
        let size = size(&field.value);
        let at = end.next_multiple_of(size.min(8));
        end = at + size;
        at
    };
    fields.iter().map(place).collect()
}

/// An event as it is in the ring buffer, without its head; a whole number of words.
fn bytes(id: u16, event: &Event<'_>, kernel: &Kernel, functions: &Functions<'_>) -> Vec<u8> {
    let mut bytes = id.to_le_bytes().to_vec();
    bytes.extend([0, 0]);
    bytes.extend(event.tid.to_le_bytes());
    let mut texts = Vec::new();
    let fields = kernel.fields.iter().zip(offsets(&kernel.fields));
    let end = fields.clone().next_back().map_or(COMMON, |(field, at)| at + size(&field.value));
    for (field, at) in fields {
        bytes.resize(at, 0);
        match &field.value {
            Value::Signed(number) => bytes.extend(number.to_le_bytes()),
            Value::Unsigned(number) => bytes.extend(number.to_le_bytes()),
            Value::Long(number) => bytes.extend(number.to_le_bytes()),
            Value::Function(name) => {
                bytes.extend(functions.get(name.as_str()).copied().unwrap_or(0).to_le_bytes());
            }
            Value::Name(name) => {
                bytes.extend(name.as_bytes());
                bytes.resize(at + NAME_MAX + 1, 0);
            }
            Value::Text(text) => {
                // The place of the text in the event, and above it its length.
                let (place, length) = ((end + texts.len()) as u32, text.len() as u32 + 1);
                bytes.extend((place | (length << 16)).to_le_bytes());
                texts.extend(text.as_bytes());
                texts.push(0);
            }
        }
    }
    bytes.extend(texts);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The pages of the ring buffer with these events.
fn pages<'a>(
    events: impl Iterator<Item = (&'a Event<'a>, &'a Kernel)>,
    formats: &Formats<'_>,
    functions: &Functions<'_>,
) -> Vec<u8> {
    let mut pages: Vec<u8> = Vec::new();
    let mut page: Vec<u8> = Vec::new();
    let (mut page_ns, mut latest_ns) = (0, 0);
    for (event, kernel) in events {
        let id = formats.get(&(kernel.system, kernel.name.as_str())).map_or(0, |(id, _)| *id);
        let data = bytes(id, event, kernel, functions);
        if page.len() + data.len() + 16 > PAGE - PAGE_HEAD {
            finish(&mut pages, &mut page, page_ns);
        }
        if page.is_empty() {
            (page_ns, latest_ns) = (event.at_ns, event.at_ns);
        }
        let delta = event.at_ns - latest_ns;
        latest_ns = event.at_ns;
        let (low, high) = (delta & ((1 << DELTA_BITS) - 1), delta >> DELTA_BITS);
        if high > 0 {
            page.extend((TIME_EXTEND | ((low as u32) << 5)).to_le_bytes());
            page.extend((high as u32).to_le_bytes());
        }
        let delta = if high > 0 { 0 } else { low as u32 };
        if data.len() / 4 <= WORDS_MAX {
            page.extend(((data.len() as u32 / 4) | (delta << 5)).to_le_bytes());
        } else {
            page.extend((delta << 5).to_le_bytes());
            page.extend((data.len() as u32 + 4).to_le_bytes());
        }
        page.extend(data);
    }
    if !page.is_empty() {
        finish(&mut pages, &mut page, page_ns);
    }
    pages
}

/// Adds `page` to `pages` and empties it.
fn finish(pages: &mut Vec<u8>, page: &mut Vec<u8>, page_ns: u64) {
    let end = pages.len() + PAGE;
    pages.extend(page_ns.to_le_bytes());
    pages.extend((page.len() as u64).to_le_bytes());
    pages.append(page);
    pages.resize(end, 0);
}
