//! Reads zip from front to back. The directory at the end cannot be used: a stream cannot be searched, and a file that
//! was cut off has none.
//!
//! Only names, sizes, checksums and the bytes of members, stored or deflated, are read (APPNOTE.TXT 6.3, sections 4.3
//! to 4.5).

use std::io::{self, Read};

use flate2::bufread::DeflateDecoder;

use crate::content::MEMBER_MAX;
use crate::error::{ArchiveError, Result};
use crate::read_more::read_more;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const CENTRAL_END: u32 = 0x0605_4b50;
const DESCRIPTOR: u32 = 0x0807_4b50;
/// The tag of the extra field with 64-bit sizes.
const ZIP64: u16 = 1;

/// A member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name in the archive, at most 200 characters.
    pub name: String,
    deflated: bool,
    crc: u32,
    packed: u64,
    size: u64,
    /// Whether checksum and sizes follow the member's bytes instead of preceding them.
    described: bool,
    zip64: bool,
}

/// How a member ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Complete and correct.
    Whole,
    /// The bytes cannot be decompressed, or do not match size and checksum.
    Damaged(String),
    /// The file was cut off within the member.
    CutOff,
}

/// The members of an archive, one at a time.
pub struct Zip<R> {
    reader: Buffered<R>,
    members: usize,
}

impl<R: Read> Zip<R> {
    /// Reads the archive in `reader` from its start.
    pub fn new(reader: R) -> Self {
        Self {
            reader: Buffered { reader, buffer: vec![0; 64 * 1024], at: 0, end: 0, last_error: None },
            members: 0,
        }
    }

    /// The next member; `None` after the last one. `Ok(Err(()))` if the file ends before the archive does.
    ///
    /// # Errors
    /// If it is damaged or uses an unsupported compression.
    pub fn next_member(&mut self) -> Result<std::result::Result<Option<Member>, ()>> {
        let Some(signature) = self.number(4)? else { return Ok(Err(())) };
        match signature as u32 {
            LOCAL => {}
            CENTRAL | CENTRAL_END => return Ok(Ok(None)),
            _ => {
                let place = format!("zip, after member {}", self.members);
                return Err(ArchiveError::field(place, "expected another member; the archive is damaged"));
            }
        }
        self.members += 1;
        if self.members > MEMBER_MAX {
            return Err(ArchiveError::TooMuch(format!("the archive has more than {MEMBER_MAX} members")));
        }
        let mut fixed = [0; 26];
        if !self.fill(&mut fixed)? {
            return Ok(Err(()));
        }
        let u16_at = |at: usize| u16::from_le_bytes([fixed[at], fixed[at + 1]]);
        let u32_at = |at: usize| u32::from_le_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
        let (flags, method) = (u16_at(2), u16_at(4));
        let mut name = vec![0; usize::from(u16_at(22))];
        let mut extra = vec![0; usize::from(u16_at(24))];
        if !self.fill(&mut name)? || !self.fill(&mut extra)? {
            return Ok(Err(()));
        }
        let name: String =
            String::from_utf8_lossy(&name).chars().filter(|c| !c.is_control()).take(200).collect();
        let wrong = |reason: String| Err(ArchiveError::field(format!("zip, {name}"), reason));
        if flags & 1 != 0 {
            return wrong("it is encrypted; unpack it first".to_owned());
        }
        let deflated = match method {
            0 => false,
            8 => true,
            other => {
                return wrong(format!("its compression method is {other}; only deflate (8) is supported"));
            }
        };
        let described = flags & 8 != 0;
        if described && !deflated {
            return wrong("it is stored without a size; pack it again".to_owned());
        }
        let mut member = Member {
            deflated,
            crc: u32_at(10),
            packed: u64::from(u32_at(14)),
            size: u64::from(u32_at(18)),
            described,
            zip64: false,
            name,
        };
        member.wide_sizes(&extra);
        Ok(Ok(Some(member)))
    }

    /// Passes the bytes of `member`, which must be the last one returned, to `take`, piece by piece.
    ///
    /// # Errors
    /// If `take` fails or the file cannot be read.
    pub fn content<E: From<ArchiveError>>(
        &mut self,
        member: &Member,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<End, E> {
        let mut sum = flate2::Crc::new();
        let mut piece = vec![0; 64 * 1024];
        let mut given = 0u64;
        // If the size follows the bytes, only the deflate stream marks their end.
        let packed = if member.described { u64::MAX } else { member.packed };
        let mut limited = Limited { inner: &mut self.reader, left: packed };
        let outcome = if member.deflated {
            let mut inflater = DeflateDecoder::new(&mut limited);
            pieces(&mut inflater, &mut piece, |bytes| {
                (given, ()) = (given + bytes.len() as u64, sum.update(bytes));
                take(bytes)
            })
        } else {
            pieces(&mut limited, &mut piece, |bytes| {
                (given, ()) = (given + bytes.len() as u64, sum.update(bytes));
                take(bytes)
            })
        };
        let left = limited.left;
        if let Some(error) = self.reader.last_error.take() {
            return Err(ArchiveError::from(error).into());
        }
        let ended = self.reader.is_at_end();
        if let Some(error) = outcome? {
            let reason = format!("{}: decompression failed: {error}", member.name);
            return Ok(if ended { End::CutOff } else { End::Damaged(reason) });
        }
        if left > 0 && !member.described {
            if ended {
                return Ok(End::CutOff);
            }
            // Deflate ended before the member did.
            let reader = &mut self.reader;
            io::copy(&mut Limited { inner: reader, left }, &mut io::sink()).map_err(ArchiveError::from)?;
        }
        let (crc, size) = if member.described {
            match self.descriptor(member.zip64)? {
                Some(known) => known,
                None => return Ok(End::CutOff),
            }
        } else {
            (member.crc, member.size)
        };
        if (size, crc) != (given, sum.sum()) {
            return Ok(End::Damaged(format!(
                "{}: expected {size} bytes with checksum {crc:08x}, found {given} with {:08x}",
                member.name,
                sum.sum()
            )));
        }
        Ok(End::Whole)
    }

    /// Checksum and size after a member; `None` if the file ends.
    fn descriptor(&mut self, zip64: bool) -> Result<Option<(u32, u64)>> {
        let Some(first) = self.number(4)? else { return Ok(None) };
        // The signature of a descriptor is common but optional.
        let crc = if first as u32 == DESCRIPTOR { self.number(4)? } else { Some(first) };
        let width = if zip64 { 8 } else { 4 };
        let sizes = (self.number(width)?, self.number(width)?);
        Ok(match (crc, sizes) {
            (Some(crc), (Some(_), Some(size))) => Some((crc as u32, size)),
            _ => None,
        })
    }

    fn number(&mut self, bytes: usize) -> Result<Option<u64>> {
        let mut number = [0; 8];
        Ok(self.fill(&mut number[..bytes])?.then(|| u64::from_le_bytes(number)))
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<bool> {
        match self.reader.read_exact(bytes) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl Member {
    /// Reads 64-bit sizes from the extra fields if the 32-bit ones are 2^32 - 1.
    fn wide_sizes(&mut self, mut extra: &[u8]) {
        while let [a, b, c, d, rest @ ..] = extra {
            let (tag, length) = (u16::from_le_bytes([*a, *b]), usize::from(u16::from_le_bytes([*c, *d])));
            let Some(field) = rest.get(..length) else { return };
            if tag == ZIP64 {
                self.zip64 = true;
                let mut numbers = field
                    .chunks_exact(8)
                    .map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()));
                for size in [&mut self.size, &mut self.packed] {
                    if *size == u64::from(u32::MAX) {
                        *size = numbers.next().unwrap_or(*size);
                    }
                }
            }
            extra = &rest[length..];
        }
    }
}

/// Passes all bytes that can be read to `take`. Returns the read error, if any.
fn pieces<E>(
    reader: &mut impl Read,
    piece: &mut [u8],
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<Option<io::Error>, E> {
    loop {
        match read_more(reader, piece) {
            Ok(0) => return Ok(None),
            Ok(count) => take(&piece[..count])?,
            Err(error) => return Ok(Some(error)),
        }
    }
}

/// Reads in blocks. Keeps the last read error, to distinguish it from an error of the decompressor.
struct Buffered<R> {
    reader: R,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    last_error: Option<io::Error>,
}

impl<R: Read> Buffered<R> {
    fn is_at_end(&mut self) -> bool {
        matches!(io::BufRead::fill_buf(self), Ok([]))
    }
}

impl<R: Read> io::BufRead for Buffered<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.end {
            match read_more(&mut self.reader, &mut self.buffer) {
                Ok(count) => (self.at, self.end) = (0, count),
                Err(error) => {
                    let copy = io::Error::new(error.kind(), error.to_string());
                    self.last_error = Some(error);
                    return Err(copy);
                }
            }
        }
        Ok(&self.buffer[self.at..self.end])
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}

impl<R: Read> Read for Buffered<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = io::BufRead::fill_buf(self)?.read(bytes)?;
        self.at += count;
        Ok(count)
    }
}

/// At most `left` bytes of a reader.
struct Limited<'a, R> {
    inner: &'a mut R,
    left: u64,
}

impl<R: io::BufRead> io::BufRead for Limited<'_, R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            return Ok(&[]);
        }
        let block = self.inner.fill_buf()?;
        let room = block.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        Ok(&block[..room])
    }

    fn consume(&mut self, count: usize) {
        self.left -= count as u64;
        self.inner.consume(count);
    }
}

impl<R: io::BufRead> Read for Limited<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = io::BufRead::fill_buf(self)?.read(bytes)?;
        io::BufRead::consume(self, count);
        Ok(count)
    }
}
