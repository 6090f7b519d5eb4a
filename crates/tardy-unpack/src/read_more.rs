//! Reading that continues after a signal.

use std::io::{ErrorKind, Read, Result};

/// Reads into `buffer`. Returns the number of bytes, 0 at the end. A read interrupted by a signal is repeated.
#[inline]
pub fn read_more(reader: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that is interrupted before each byte.
    struct Interrupted<'a>(&'a [u8], bool);

    impl Read for Interrupted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
            self.1 = !self.1;
            let room = buffer.len().min(1);
            if self.1 { Err(ErrorKind::Interrupted.into()) } else { self.0.read(&mut buffer[..room]) }
        }
    }

    #[test]
    fn an_interrupted_read_is_repeated() {
        let (mut reader, mut buffer) = (Interrupted(b"ab", false), [0; 4]);
        assert_eq!(read_more(&mut reader, &mut buffer).unwrap(), 1);
        assert_eq!(read_more(&mut reader, &mut buffer[1..]).unwrap(), 1);
        assert_eq!((&buffer[..2], read_more(&mut reader, &mut []).unwrap()), (b"ab".as_slice(), 0));
    }

    #[test]
    fn other_errors_are_returned() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _buffer: &mut [u8]) -> Result<usize> {
                Err(ErrorKind::BrokenPipe.into())
            }
        }
        assert_eq!(read_more(&mut Broken, &mut [0]).unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
}
