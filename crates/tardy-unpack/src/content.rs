//! Compressed files and archives. Input is hostile: what a file expands to, over all its compressions, is bounded by its size.
//!
//! tar is read without a library: an importer needs only the names and bytes of regular files, one at a time, not owners or
//! links.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use crate::error::{ArchiveError, Result};

/// The most bytes that a file may expand to, per byte of the file and over all its compressions and members. Deflate reaches
/// 1032; histograms of zeros reach about 200.
const EXPANSION_MAX: u64 = 2_000;
/// Expansion that is always allowed, in bytes.
const EXPANSION_FREE: u64 = 64 << 20;
/// The deepest nesting of compressions and archives.
const NESTING_MAX: usize = 3;
/// The most members of an archive that are read.
pub const MEMBER_MAX: usize = 100_000;
const HEAD_MAX: usize = 64 * 1024;
/// The signature of the first member of a zip archive.
const ZIP: &[u8] = b"PK\x03\x04";
/// The byte order mark that Windows editors write before UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const TAR_BLOCK: usize = 512;

/// The decompressed content of a file. Its first bytes stay available, to recognise the format.
pub struct Content<'a> {
    head: Vec<u8>,
    at: usize,
    rest: Box<dyn Read + 'a>,
    given: u64,
    limits: Limits,
    /// Why the content ends early. `None` until a read has reached that point.
    cut_off: Option<String>,
}

impl<'a> Content<'a> {
    /// The decompressed content of `reader`.
    ///
    /// # Errors
    /// If it cannot be read, or is compressed too many times.
    pub fn open(reader: impl Read + 'a) -> Result<Self> {
        let limits = Limits::default();
        let file = Counted { inner: reader, seen: limits.file.clone() };
        Self::within(Box::new(file), limits)
    }

    /// The decompressed content of `reader`, which is part of a file with these limits.
    fn within(reader: Box<dyn Read + 'a>, limits: Limits) -> Result<Self> {
        let mut content = Self::plain(reader, limits)?;
        while let Some(compression) = Compression::of(&content.head) {
            let limits = content.limits.one_deeper()?;
            content = Self::plain(compression.decompressed(content)?, limits)?;
        }
        // A zip archive expands too, and what it expands to is not counted.
        if content.limits.is_expanded && content.head.starts_with(ZIP) {
            return Err(ArchiveError::TooMuch(
                "is a zip archive in a compressed file; unpack the outer one first".to_owned(),
            ));
        }
        Ok(content)
    }

    fn plain(mut rest: Box<dyn Read + 'a>, limits: Limits) -> Result<Self> {
        let mut head = Vec::new();
        let cut_off = match rest.by_ref().take(HEAD_MAX as u64).read_to_end(&mut head) {
            Ok(_) => None,
            Err(error) => Some(why_cut_off(error)?),
        };
        if head.starts_with(BYTE_ORDER_MARK) {
            head.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(Self { given: head.len() as u64, head, at: 0, rest, limits, cut_off })
    }

    /// Why the content ended early and after how many bytes, as a sentence. `None` if it did not end early, or if no
    /// read has reached that point.
    pub fn cut_off(&self) -> Option<String> {
        let why = self.cut_off.as_ref()?;
        Some(format!("{why} after {} bytes of content; the rest is missing", self.given))
    }

    /// The first bytes, at most 64 KiB. They stay available after they have been read.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// An unsupported compression, archive or encoding of the content, and the command that converts it, as a message.
    pub fn wrapping(&self) -> Option<&'static str> {
        let wrappings: [(&[u8], &str); 6] = [
            (b"\xfd7zXZ\0", "is compressed with xz; unpack it first (xz -d)"),
            (b"BZh", "is compressed with bzip2; unpack it first (bzip2 -d)"),
            (b"7z\xbc\xaf", "is a 7z archive; unpack it first"),
            (ZIP, "is a zip archive, but not a sigrok capture; unpack it first (unzip)"),
            (b"\xff\xfe", "is UTF-16 text; convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8)"),
            (b"\xfe\xff", "is UTF-16 text; convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8)"),
        ];
        if self.is_tar() {
            return Some("is an archive in an archive; unpack it first (tar -xf)");
        }
        wrappings.into_iter().find(|(mark, _)| self.head.starts_with(mark)).map(|(_, how)| how)
    }

    /// Whether it is a tar archive.
    pub fn is_tar(&self) -> bool {
        self.head.get(257..262) == Some(b"ustar")
    }
}

impl Read for Content<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at < self.head.len() {
            let count = (&self.head[self.at..]).read(buffer)?;
            self.at += count;
            return Ok(count);
        }
        if self.cut_off.is_some() {
            return Ok(0);
        }
        match self.rest.read(buffer) {
            Ok(count) => {
                self.given += count as u64;
                Ok(count)
            }
            Err(error) => {
                self.cut_off = Some(why_cut_off(error)?);
                Ok(0)
            }
        }
    }
}

/// The message of `error` if it is an unexpected end of file. Any other error is returned unchanged.
fn why_cut_off(error: io::Error) -> io::Result<String> {
    if error.kind() == io::ErrorKind::UnexpectedEof { Ok(error.to_string()) } else { Err(error) }
}

/// The error for input that ends early. `what` names the input.
fn too_early(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, format!("{what} is cut off"))
}

#[derive(Clone, Copy)]
enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    fn of(head: &[u8]) -> Option<Self> {
        if head.starts_with(&[0x1f, 0x8b]) {
            return Some(Self::Gzip);
        }
        head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]).then_some(Self::Zstd)
    }

    fn decompressed<'a>(self, content: Content<'a>) -> Result<Box<dyn Read + 'a>> {
        let limits = content.limits.clone();
        let packed = Counted { inner: content, seen: Rc::default() };
        let seen = packed.seen.clone();
        let unpacked: Box<dyn Read + 'a> = match self {
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(packed)),
            Self::Zstd => {
                let decoder = ruzstd::decoding::StreamingDecoder::new(packed).map_err(|error| match seen
                    .ended
                    .get()
                {
                    true => too_early("the zstd file"),
                    false => io::Error::new(io::ErrorKind::InvalidData, format!("zstd: {error}")),
                })?;
                Box::new(decoder)
            }
        };
        Ok(Box::new(Bounded { unpacked, packed: seen, limits, name: self.name() }))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "the gzip file",
            Self::Zstd => "the zstd file",
        }
    }
}

/// The progress of reading a compressed file.
#[derive(Default)]
struct Seen {
    bytes: Cell<u64>,
    /// Whether a read reached the end.
    ended: Cell<bool>,
}

/// Counts the bytes read through it.
struct Counted<R> {
    inner: R,
    seen: Rc<Seen>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.seen.bytes.set(self.seen.bytes.get() + count as u64);
        self.seen.ended.set(self.seen.ended.get() || (count == 0 && !buffer.is_empty()));
        Ok(count)
    }
}

/// The limits of a file, shared by everything that is unpacked from it.
#[derive(Clone, Default)]
struct Limits {
    /// The progress of reading the file itself.
    file: Rc<Seen>,
    /// The bytes that all compressions of the file returned so far.
    expanded: Rc<Cell<u64>>,
    /// The number of compressions and archives around this content.
    depth: usize,
    /// Whether one of them is a compression.
    is_expanded: bool,
}

impl Limits {
    /// The limits of the content of a compression.
    fn one_deeper(&self) -> Result<Self> {
        let limits = Self { depth: self.depth + 1, is_expanded: true, ..self.clone() };
        limits.checked()
    }

    fn checked(self) -> Result<Self> {
        match self.depth > NESTING_MAX {
            true => Err(ArchiveError::TooMuch(format!(
                "is compressed or archived more than {NESTING_MAX} times; unpack it first"
            ))),
            false => Ok(self),
        }
    }

    /// Counts bytes that a compression returned.
    fn count(&self, bytes: usize) -> io::Result<()> {
        let expanded = self.expanded.get().saturating_add(bytes as u64);
        self.expanded.set(expanded);
        let allowed = self.file.bytes.get().saturating_mul(EXPANSION_MAX).saturating_add(EXPANSION_FREE);
        if expanded <= allowed {
            return Ok(());
        }
        let limit = format!(
            "expands to more than {EXPANSION_MAX} bytes per byte of the file and {} MiB, over all compressions; unpack it first",
            EXPANSION_FREE >> 20
        );
        Err(io::Error::new(io::ErrorKind::InvalidData, limit))
    }
}

/// Fails if the file expands to more than its [`Limits`] allow.
struct Bounded<R> {
    unpacked: R,
    packed: Rc<Seen>,
    limits: Limits,
    name: &'static str,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A decoder that fails at the end of its input has already returned all complete data.
        let count = self.unpacked.read(buffer).map_err(|error| match self.packed.ended.get() {
            true => too_early(self.name),
            false => error,
        })?;
        self.limits.count(count)?;
        Ok(count)
    }
}

/// A regular file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name in the archive.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
}

/// Reads a tar archive, member by member (tar(5): ustar; the long names of GNU and pax are skipped).
pub struct Tar<R> {
    reader: R,
    left: u64,
    padding: u64,
    members: usize,
    /// The last member that was returned.
    name: String,
    has_end_mark: bool,
}

impl<R: Read> Tar<R> {
    /// Reads the archive in `reader`.
    pub fn new(reader: R) -> Self {
        Self { reader, left: 0, padding: 0, members: 0, name: String::new(), has_end_mark: false }
    }

    /// Whether the archive ended with its end mark of zeros. Without one it may have been cut off.
    pub fn has_end_mark(&self) -> bool {
        self.has_end_mark
    }

    /// The next regular file; `None` at the end. The unread rest of the previous one is skipped.
    ///
    /// # Errors
    /// If the archive is damaged or cut off.
    pub fn next_member(&mut self) -> Result<Option<Member>> {
        loop {
            let passed = io::copy(&mut (&mut self.reader).take(self.left + self.padding), &mut io::sink())?;
            if passed < self.left {
                let reason = "the archive is cut off in this member; the rest is missing";
                return Err(ArchiveError::field(format!("member {}", self.name), reason));
            }
            (self.left, self.padding) = (0, 0);
            let mut header = [0; TAR_BLOCK];
            let mut filled = 0;
            while filled < TAR_BLOCK {
                match self.reader.read(&mut header[filled..])? {
                    0 if filled == 0 => return Ok(None),
                    0 => {
                        return Err(ArchiveError::TooMuch(
                            "the archive ends in a member's header".to_owned(),
                        ));
                    }
                    count => filled += count,
                }
            }
            if header.iter().all(|byte| *byte == 0) {
                self.has_end_mark = true;
                return Ok(None);
            }
            self.members += 1;
            if self.members > MEMBER_MAX {
                return Err(ArchiveError::TooMuch(format!("the archive has more than {MEMBER_MAX} members")));
            }
            let size = octal(&header[124..136]).filter(|_| checksum_fits(&header)).ok_or_else(|| {
                ArchiveError::field(format!("member {}", self.members), "its header is damaged")
            })?;
            (self.left, self.padding) = (size, size.next_multiple_of(TAR_BLOCK as u64) - size);
            if matches!(header[156], b'0' | 0) {
                let name = |part: &[u8]| {
                    let end = part.iter().position(|byte| *byte == 0).unwrap_or(part.len());
                    String::from_utf8_lossy(&part[..end]).into_owned()
                };
                let (prefix, name) = (name(&header[345..500]), name(&header[..100]));
                let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
                self.name.clone_from(&name);
                return Ok(Some(Member { name, size }));
            }
        }
    }
}

impl Tar<Content<'_>> {
    /// The decompressed content of the member that was returned last, within the limits of the file that the archive is in.
    ///
    /// # Errors
    /// As [`Content::open`].
    pub fn content(&mut self) -> Result<Content<'_>> {
        let limits =
            Limits { depth: self.reader.limits.depth + 1, ..self.reader.limits.clone() }.checked()?;
        Content::within(Box::new(self), limits)
    }
}

impl<R: Read> Read for Tar<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let count = self.reader.read(&mut buffer[..room])?;
        if count == 0 && room > 0 {
            return Err(too_early("the archive"));
        }
        self.left -= count as u64;
        Ok(count)
    }
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    let digits = text.trim_matches(|c: char| c == '\0' || c == ' ');
    // Far below 2^64, so that rounding up to blocks cannot overflow.
    u64::from_str_radix(digits, 8).ok().filter(|size| *size < 1 << 50)
}

fn checksum_fits(header: &[u8; TAR_BLOCK]) -> bool {
    let sum: u64 = header
        .iter()
        .enumerate()
        .map(|(index, byte)| if (148..156).contains(&index) { 32 } else { u64::from(*byte) })
        .sum();
    octal(&header[148..156]) == Some(sum)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(write: impl FnOnce(&mut dyn Write)) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        write(&mut encoder);
        encoder.finish().unwrap()
    }

    /// Zeros, compressed; the result is small.
    fn zeros(mib: usize) -> Vec<u8> {
        gzip(|to| (0..mib).for_each(|_| to.write_all(&vec![0; 1 << 20]).unwrap()))
    }

    /// A tar archive with members of this content.
    fn tar(members: &[&[u8]]) -> Vec<u8> {
        let mut archive = Vec::new();
        for content in members {
            let mut header = [0; TAR_BLOCK];
            header[..1].copy_from_slice(b"a");
            header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
            header[148..156].fill(b' ');
            header[156] = b'0';
            header[257..262].copy_from_slice(b"ustar");
            let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
            header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
            archive.extend(header);
            archive.extend(*content);
            archive.resize(archive.len().next_multiple_of(TAR_BLOCK), 0);
        }
        archive.extend([0; 2 * TAR_BLOCK]);
        archive
    }

    fn read(bytes: &[u8]) -> std::result::Result<u64, String> {
        let mut content = Content::open(bytes).map_err(|error| error.to_string())?;
        io::copy(&mut content, &mut io::sink()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_nested_bomb_reaches_the_limit_of_its_file() {
        // Each layer stays below the limit per byte; both together expand 400 bytes to 80 MiB.
        let once = zeros(80);
        let twice = gzip(|to| to.write_all(&once).unwrap());
        assert!(once.len() > 80_000 && twice.len() < 4 << 10, "{} {}", once.len(), twice.len());
        assert_eq!(read(&once), Ok(80 << 20));
        let error = read(&twice).unwrap_err();
        assert!(error.contains("2000 bytes per byte of the file and 64 MiB"), "{error}");
    }

    #[test]
    fn members_of_an_archive_share_the_limit_of_its_file() {
        let member = zeros(20);
        let packed = gzip(|to| to.write_all(&tar(&[member.as_slice(); 5])).unwrap());
        let mut tar = Tar::new(Content::open(packed.as_slice()).unwrap());
        let mut whole = 0;
        let error = loop {
            tar.next_member().unwrap().expect("a member that exceeds the limit");
            let mut content = tar.content().unwrap();
            match io::copy(&mut content, &mut io::sink()) {
                Ok(bytes) => whole += bytes,
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains("over all compressions") && whole >= 40 << 20, "{whole}: {error}");
    }

    #[test]
    fn nesting_is_limited_over_compressions_and_archives() {
        let pack = |bytes: &[u8]| gzip(|to| to.write_all(bytes).unwrap());
        let thrice = pack(&pack(&pack(b"text")));
        assert_eq!(read(&thrice), Ok(4));
        assert!(read(&pack(&thrice)).unwrap_err().contains("more than 3 times"));
        let archive = pack(&tar(&[&pack(b"text"), &pack(&pack(b"text"))]));
        let mut tar = Tar::new(Content::open(archive.as_slice()).unwrap());
        tar.next_member().unwrap().unwrap();
        assert!(tar.content().is_ok());
        tar.next_member().unwrap().unwrap();
        assert!(tar.content().is_err_and(|error| error.to_string().contains("more than 3 times")));
        assert!(read(&pack(b"PK\x03\x04")).unwrap_err().contains("zip archive in a compressed file"));
    }
}
