//! Compressed files and archives. Input is hostile: the output is bounded by the size of the input.
//!
//! tar is read without a library: an importer needs only the names and bytes of regular files, one at a time, not owners or
//! links.

use std::io::{self, Read};

use crate::error::{ArchiveError, Result};

/// The most output bytes per input byte. Deflate reaches 1032; histograms of zeros reach about 200.
const EXPANSION_MAX: u64 = 2_000;
/// Output that is always allowed, in bytes.
const EXPANSION_FREE: u64 = 64 << 20;
/// The deepest nesting of compressions.
const NESTING_MAX: usize = 3;
/// The most members of an archive that are read.
pub const MEMBER_MAX: usize = 100_000;
const HEAD_MAX: usize = 64 * 1024;
/// The byte order mark that Windows editors write before UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const TAR_BLOCK: usize = 512;

/// The decompressed content of a file. Its first bytes stay available, to recognise the format.
pub struct Content<'a> {
    head: Vec<u8>,
    at: usize,
    rest: Box<dyn Read + 'a>,
    given: u64,
    /// Why the content ends early. `None` until a read has reached that point.
    cut_off: Option<String>,
}

impl<'a> Content<'a> {
    /// The decompressed content of `reader`.
    ///
    /// # Errors
    /// If it cannot be read, or is compressed too many times.
    pub fn open(reader: impl Read + 'a) -> Result<Self> {
        let mut content = Self::plain(Box::new(reader))?;
        for _ in 0..NESTING_MAX {
            content = match Compression::of(&content.head) {
                None => return Ok(content),
                Some(compression) => Self::plain(compression.decompressed(content)?)?,
            };
        }
        Err(ArchiveError::TooMuch(format!("is compressed more than {NESTING_MAX} times; unpack it first")))
    }

    fn plain(mut rest: Box<dyn Read + 'a>) -> Result<Self> {
        let mut head = Vec::new();
        let cut_off = match rest.by_ref().take(HEAD_MAX as u64).read_to_end(&mut head) {
            Ok(_) => None,
            Err(error) => Some(why_cut_off(error)?),
        };
        if head.starts_with(BYTE_ORDER_MARK) {
            head.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(Self { given: head.len() as u64, head, at: 0, rest, cut_off })
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
            (b"PK\x03\x04", "is a zip archive, but not a sigrok capture; unpack it first (unzip)"),
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
        let packed = Counted { inner: content, seen: std::rc::Rc::default() };
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
        Ok(Box::new(Bounded { unpacked, packed: seen, given: 0, name: self.name() }))
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
    bytes: std::cell::Cell<u64>,
    /// Whether a read reached the end.
    ended: std::cell::Cell<bool>,
}

/// Counts the bytes read through it.
struct Counted<R> {
    inner: R,
    seen: std::rc::Rc<Seen>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.seen.bytes.set(self.seen.bytes.get() + count as u64);
        self.seen.ended.set(self.seen.ended.get() || (count == 0 && !buffer.is_empty()));
        Ok(count)
    }
}

/// Fails if the output is larger than [`EXPANSION_MAX`] and [`EXPANSION_FREE`] allow.
struct Bounded<R> {
    unpacked: R,
    packed: std::rc::Rc<Seen>,
    given: u64,
    name: &'static str,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A decoder that fails at the end of its input has already returned all complete data.
        let count = self.unpacked.read(buffer).map_err(|error| match self.packed.ended.get() {
            true => too_early(self.name),
            false => error,
        })?;
        self.given += count as u64;
        let allowed = self.packed.bytes.get().saturating_mul(EXPANSION_MAX).saturating_add(EXPANSION_FREE);
        if self.given > allowed {
            let words = format!("expands to more than {EXPANSION_MAX} bytes per byte; unpack it first");
            return Err(io::Error::new(io::ErrorKind::InvalidData, words));
        }
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
