//! What a session and its reader say to each other: each message is its length and its bytes.

use std::io::{self, Read, Write};

use tardy_sys::perf_event::{Registers, Sample};

use crate::usdt::Probe;

/// The longest message. A stack has 12 KiB; 64 probes have names of 64 bytes.
const BYTES_MAX: usize = 1 << 20;

/// What a session asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Read what the process has mapped, because it may have ended when its stacks are to be unwound. Has no answer.
    Follow { pid: u32 },
    /// The process has ended. Has no answer.
    Forget { pid: u32 },
    /// Where in the process a thread was. The answer is a [`Place`].
    Place { pid: u32, sample: Sample },
    /// The probes of files of the process that were not read before. The files stay open until the next request.
    Probes { pid: u32 },
}

/// A file with probes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProbedFile {
    /// Its descriptor in the reader.
    pub(crate) descriptor: u32,
    /// Its probes, whose instructions do nothing.
    pub(crate) probes: Vec<Probe>,
}

/// The answer to [`Request::Probes`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) files: Vec<ProbedFile>,
    /// Why probes were left out.
    pub(crate) refused: Option<String>,
}

/// The answer to [`Request::Place`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The place, if it is known.
    pub(crate) text: Option<String>,
    /// Whether files were left out because they have too many bytes.
    pub(crate) is_limited: bool,
}

/// Writes numbers and texts.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) -> &mut Self {
        self.0.extend(number.to_ne_bytes());
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as u64).0.extend(bytes);
        self
    }

    fn optional(&mut self, text: Option<&str>) -> &mut Self {
        match text {
            Some(text) => self.number(1).bytes(text.as_bytes()),
            None => self.number(0),
        }
    }
}

/// Reads them in the same order.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn number<N: TryFrom<u64>>(&mut self) -> Option<N> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        N::try_from(u64::from_ne_bytes(*number)).ok()
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<String> {
        self.bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    fn optional(&mut self) -> Option<Option<String>> {
        match self.number::<u64>()? {
            0 => Some(None),
            _ => self.text().map(Some),
        }
    }

    fn several<T>(&mut self, one: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count: usize = self.number()?;
        (0..count.min(BYTES_MAX)).map(|_| one(self)).collect()
    }
}

impl Request {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        match self {
            Self::Follow { pid } => writer.number(0).number(u64::from(*pid)),
            Self::Forget { pid } => writer.number(1).number(u64::from(*pid)),
            Self::Place { pid, sample } => {
                let Registers { instruction, stack, frame, link } = sample.registers;
                writer.number(2).number(u64::from(*pid)).number(sample.at_ns);
                writer.number(instruction).number(stack).number(frame).number(link).bytes(&sample.stack)
            }
            Self::Probes { pid } => writer.number(3).number(u64::from(*pid)),
        };
        writer.0
    }

    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let (kind, pid) = (reader.number::<u64>()?, reader.number()?);
        Some(match kind {
            0 => Self::Follow { pid },
            1 => Self::Forget { pid },
            2 => {
                let at_ns = reader.number()?;
                let [instruction, stack, frame, link] = [(); 4].map(|()| reader.number());
                let registers =
                    Registers { instruction: instruction?, stack: stack?, frame: frame?, link: link? };
                Self::Place { pid, sample: Sample { at_ns, registers, stack: reader.bytes()?.to_vec() } }
            }
            3 => Self::Probes { pid },
            _ => return None,
        })
    }
}

impl Place {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.optional(self.text.as_deref()).number(u64::from(self.is_limited));
        writer.0
    }

    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        Some(Self { text: reader.optional()?, is_limited: reader.number::<u64>()? != 0 })
    }
}

impl Found {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.optional(self.refused.as_deref()).number(self.files.len() as u64);
        for file in &self.files {
            writer.number(u64::from(file.descriptor)).number(file.probes.len() as u64);
            for Probe { name, is_begin, offset, is_nop } in &file.probes {
                writer.bytes(name.as_bytes()).number(u64::from(*is_begin));
                writer.number(*offset).number(u64::from(*is_nop));
            }
        }
        writer.0
    }

    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let probe = |reader: &mut Reader<'_>| {
            let (name, is_begin) = (reader.text()?, reader.number::<u64>()? != 0);
            Some(Probe { name, is_begin, offset: reader.number()?, is_nop: reader.number::<u64>()? != 0 })
        };
        let mut reader = Reader(bytes);
        let refused = reader.optional()?;
        let files = reader.several(|reader| {
            Some(ProbedFile { descriptor: reader.number()?, probes: reader.several(probe)? })
        })?;
        Some(Self { files, refused })
    }
}

/// Writes a message.
///
/// # Errors
/// If the other process has ended.
pub(crate) fn send(bytes: &[u8], to: &mut impl Write) -> io::Result<()> {
    let mut message = (bytes.len() as u64).to_ne_bytes().to_vec();
    message.extend(bytes);
    to.write_all(&message)?;
    to.flush()
}

/// Reads a message; `None` if the other process has ended.
///
/// # Errors
/// If it is not a message.
pub(crate) fn receive(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 8];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = length_of(length).ok_or(io::ErrorKind::InvalidData)?;
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes).map(|()| Some(bytes))
}

/// The length of a message; `None` if it is too long.
pub(crate) fn length_of(bytes: [u8; 8]) -> Option<usize> {
    usize::try_from(u64::from_ne_bytes(bytes)).ok().filter(|length| *length <= BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let registers = Registers { instruction: 1, stack: 2, frame: 3, link: u64::MAX };
        let sample = Sample { at_ns: 5, registers, stack: vec![1, 2, 3] };
        for request in [
            Request::Follow { pid: 7 },
            Request::Forget { pid: u32::MAX },
            Request::Place { pid: 8, sample },
            Request::Probes { pid: 9 },
        ] {
            assert_eq!(Request::of(&request.to_bytes()), Some(request));
        }
        let probe = Probe { name: "control".to_owned(), is_begin: true, offset: 77, is_nop: true };
        let files =
            vec![ProbedFile { descriptor: 5, probes: vec![probe.clone(), probe] }, ProbedFile::default()];
        for refused in [None, Some("why".to_owned())] {
            let found = Found { files: files.clone(), refused };
            assert_eq!(Found::of(&found.to_bytes()), Some(found));
        }
        for text in [None, Some("main+0x1 in control".to_owned())] {
            let place = Place { is_limited: text.is_some(), text };
            assert_eq!(Place::of(&place.to_bytes()), Some(place));
        }
        let mut pipe = Vec::new();
        send(b"text", &mut pipe).unwrap();
        let mut pipe = pipe.as_slice();
        assert_eq!(receive(&mut pipe).unwrap().as_deref(), Some(&b"text"[..]));
        assert_eq!(receive(&mut pipe).unwrap(), None);
        assert!(receive(&mut &[0xff; 8][..]).is_err(), "too long");
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = (Request::of(&bytes), Found::of(&bytes), Place::of(&bytes));
        }
    }
}
