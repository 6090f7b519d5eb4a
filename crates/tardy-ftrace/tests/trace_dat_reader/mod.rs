//! Reads trace.dat, version 6, as trace-cmd.dat.v6(5) and the kernel's ring buffer describe it, from the formats in the file
//! alone.

use std::collections::BTreeMap;

/// The content of a file.
pub(crate) struct File {
    /// The symbol of each function, by its address.
    pub(crate) functions: BTreeMap<u64, String>,
    /// The events of each CPU.
    pub(crate) cpus: Vec<Vec<Event>>,
}

/// An event.
pub(crate) struct Event {
    pub(crate) at_ns: u64,
    pub(crate) name: String,
    pub(crate) pid: u32,
    fields: BTreeMap<String, Vec<u8>>,
    bytes: Vec<u8>,
}

impl Event {
    /// A field that is a number.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.fields[name].iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte))
    }

    /// A field that is a text: in an array, or at a place of the event.
    pub(crate) fn text(&self, name: &str) -> String {
        let field = &self.fields[name];
        let bytes = match field.len() {
            4 => {
                let place = self.number(name) as usize;
                &self.bytes[place & 0xffff..][..place >> 16]
            }
            _ => field,
        };
        let end = bytes.iter().position(|byte| *byte == 0).expect("a text ends with a zero");
        String::from_utf8(bytes[..end].to_vec()).unwrap()
    }
}

/// The format of an event.
struct Format {
    name: String,
    /// Name, place and size.
    fields: Vec<(String, usize, usize)>,
}

struct Bytes<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.all.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn expect(&mut self, expected: &[u8]) -> Option<()> {
        (self.take(expected.len())? == expected).then_some(())
    }

    fn number(&mut self, size: usize) -> Option<u64> {
        Some(self.take(size)?.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
    }

    fn text(&mut self, size_of_size: usize) -> Option<&'a str> {
        let size = self.number(size_of_size)? as usize;
        std::str::from_utf8(self.take(size)?).ok()
    }

    fn name(&mut self) -> Option<&'a str> {
        let end = self.all.get(self.at..)?.iter().position(|byte| *byte == 0)?;
        let name = std::str::from_utf8(self.take(end)?).ok();
        self.at += 1;
        name
    }
}

/// Reads a file; `None` if it does not follow the format.
pub(crate) fn read(file: &[u8]) -> Option<File> {
    let mut bytes = Bytes { all: file, at: 0 };
    bytes.expect(b"\x17\x08\x44tracing6\0\0\x08")?;
    let page = bytes.number(4)? as usize;
    bytes.expect(b"header_page\0")?;
    bytes.text(8)?.contains("commit;\toffset:8;\tsize:8;").then_some(())?;
    bytes.expect(b"header_event\0")?;
    bytes.text(8)?.contains("time_delta  :   27 bits").then_some(())?;
    for _ in 0..bytes.number(4)? {
        bytes.text(8)?;
    }
    let mut formats = BTreeMap::new();
    for _ in 0..bytes.number(4)? {
        bytes.name()?;
        for _ in 0..bytes.number(4)? {
            let (id, format) = format(bytes.text(8)?)?;
            if formats.insert(id, format).is_some() {
                return None;
            }
        }
    }
    let mut functions = BTreeMap::new();
    for line in bytes.text(4)?.lines() {
        let (address, name) = line.split_once(" T ")?;
        functions.insert(u64::from_str_radix(address, 16).ok()?, name.to_owned());
    }
    bytes.text(4)?;
    let names = bytes.text(8)?;
    names
        .lines()
        .all(|line| line.split_once(' ').is_some_and(|(pid, _)| pid.parse::<u32>().is_ok()))
        .then_some(())?;
    let count = bytes.number(4)?;
    bytes.expect(b"options  \0\0\0flyrecord\0")?;
    let mut cpus = Vec::new();
    for _ in 0..count {
        let (at, size) = (bytes.number(8)? as usize, bytes.number(8)? as usize);
        if at % page != 0 {
            return None;
        }
        let pages = file.get(at..at.checked_add(size)?)?.chunks(page);
        cpus.push(
            pages
                .map(|page| events(page, &formats))
                .collect::<Option<Vec<_>>>()?
                .into_iter()
                .flatten()
                .collect(),
        );
    }
    Some(File { functions, cpus })
}

fn format(text: &str) -> Option<(u64, Format)> {
    let name = text.lines().next()?.strip_prefix("name: ")?.to_owned();
    let id = text.lines().nth(1)?.strip_prefix("ID: ")?.parse().ok()?;
    text.lines().last()?.strip_prefix("print fmt: \"")?;
    let field = |line: &str| {
        let mut parts = line.trim().strip_prefix("field:")?.split(";\t");
        let name = parts.next()?.split(' ').next_back()?.split('[').next()?.to_owned();
        let at = parts.next()?.strip_prefix("offset:")?.parse().ok()?;
        let size = parts.next()?.strip_prefix("size:")?.parse().ok()?;
        Some((name, at, size))
    };
    let fields = text.lines().filter(|line| line.starts_with("\tfield:"));
    Some((id, Format { name, fields: fields.map(field).collect::<Option<Vec<_>>>()? }))
}

/// The events of a page of the ring buffer.
fn events(page: &[u8], formats: &BTreeMap<u64, Format>) -> Option<Vec<Event>> {
    let mut bytes = Bytes { all: page, at: 0 };
    let mut at_ns = bytes.number(8)?;
    let end = 16 + bytes.number(8)? as usize;
    let mut events = Vec::new();
    while bytes.at < end {
        let head = bytes.number(4)?;
        let (kind, delta) = (head & 31, head >> 5);
        at_ns += delta;
        let size = match kind {
            30 => {
                at_ns += bytes.number(4)? << 27;
                continue;
            }
            0 => bytes.number(4)? as usize - 4,
            words @ 1..=28 => words as usize * 4,
            _ => return None,
        };
        let data = bytes.take(size)?.to_vec();
        let format = formats.get(&u64::from(u16::from_le_bytes([data[0], data[1]])))?;
        let field = |(name, at, size): &(String, usize, usize)| {
            Some((name.clone(), data.get(*at..at + size)?.to_vec()))
        };
        events.push(Event {
            at_ns,
            name: format.name.clone(),
            pid: u32::from_le_bytes(data[4..8].try_into().ok()?),
            fields: format.fields.iter().map(field).collect::<Option<_>>()?,
            bytes: data,
        });
    }
    (bytes.at == end).then_some(events)
}
