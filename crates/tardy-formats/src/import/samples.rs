//! Code for both importers of individual samples: reading in blocks, and a series for each thread.

use std::io::Read;

use tardy_record::Knowable;
use tardy_record::Series;
use tardy_record::foreign::ForeignSeries;
use tardy_record::series::{Level, Quantity, SeriesKind};
use tardy_record::series_builder::SeriesBuilder;

use crate::error::Result;
use crate::imported::Unit;
use tardy_unpack::read_more;

/// Reads to the end in blocks of at most `size` bytes. `take` returns the number of bytes that it has used; the others
/// begin the next block. Returns the unused bytes at the end.
///
/// # Errors
/// If `take` fails or the file cannot be read.
pub(super) fn read_blocks(
    reader: &mut dyn Read,
    size: usize,
    mut take: impl FnMut(&[u8]) -> Result<usize>,
) -> Result<Vec<u8>> {
    let mut buffer = vec![0u8; size];
    let mut kept = 0;
    loop {
        let count = read_more(reader, &mut buffer[kept..])?;
        let end = kept + count;
        if count == 0 {
            buffer.truncate(kept);
            return Ok(buffer);
        }
        let used = take(&buffer[..end])?;
        buffer.copy_within(used..end, 0);
        kept = end - used;
    }
}

/// The readings of each thread, with a state `S` of the importer. `None` for threads without readings.
pub(super) type Threads<S> = Vec<Option<(SeriesBuilder, S)>>;

/// Begins the series of `thread`, whose values are multiples of `unit`.
pub(super) fn begin<S>(threads: &mut Threads<S>, thread: usize, unit: Unit, state: S) {
    if threads.len() <= thread {
        threads.resize_with(thread + 1, || None);
    }
    let builder = SeriesBuilder::new(0, None, 0, &[]).of_unit(unit.ns() as u32);
    threads[thread] = Some((builder, state));
}

/// The series of a thread. How many samples the tool dropped is unknown.
pub(super) fn series(builder: &SeriesBuilder, unit: Unit) -> Series {
    let kind = ForeignSeries { resolution_ns: unit.ns() as u64, ..ForeignSeries::default() };
    let kind = SeriesKind::Foreign(Box::new(kind));
    let mut series = builder.series(String::new(), 0, Quantity::Latency, Level::UserThread, kind);
    series.tally.dropped = Knowable::Unknown;
    series.tally.attempted = Knowable::Unknown;
    series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_bytes_begin_the_next_block_or_are_the_rest() {
        let mut blocks = Vec::new();
        let mut text = b"abcdefgh".as_slice();
        let rest = read_blocks(&mut text, 4, |block| {
            blocks.push(String::from_utf8_lossy(block).into_owned());
            Ok(block.len() / 2)
        });
        assert_eq!(blocks, ["abcd", "cdef", "efgh"]);
        assert_eq!(rest.unwrap(), b"gh");
    }
}
