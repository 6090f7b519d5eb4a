//! Maps of any content: their header and size, and the numbers of a killed run.

use std::fs;
use std::path::PathBuf;

use tardy_analyse::findings;
use tardy_measure::recovery;
use tardy_present::summary;
use tardy_probe::cells::{CELLS, HEADER_RUN_START, HEADER_SAMPLES_KEPT, Total};
use tardy_probe::timer::reading::{Cells, mend};
use tardy_record::file;
use tardy_record::run::State;
use tardy_sys::files::caller;
use tardy_sys::shared_map::SharedMap;
use tempfile::TempDir;

/// Blocks, cells and slots of the map whose file is changed.
const SHAPE: [usize; 3] = [2, 8, 4];
/// Bytes of the header that describe the map's shape.
const FIXED_BYTES: usize = 40;
/// Where the blocks begin, and the size of one, in bytes.
const BLOCKS: [usize; 2] = [4096, 128];

/// A file of a map.
struct MapFile {
    directory: TempDir,
    /// The bytes of a map of [`SHAPE`].
    sound: Vec<u8>,
}

impl MapFile {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("there is a directory for temporary files");
        let path = directory.path().join("sound");
        let [blocks, cells, slots] = SHAPE;
        SharedMap::create_with_rings(&path, blocks, cells, slots).expect("the scratch directory is writable");
        let sound = fs::read(&path).expect("the map was created");
        Self { directory, sound }
    }
}

/// Opens and reads a map whose header differs from a sound one by the first bytes, and whose length by the next two. The
/// others are the content of its blocks and rings.
pub fn open(bytes: &[u8]) {
    thread_local!(static FILE: MapFile = MapFile::new());
    let (header, rest) = bytes.split_at(bytes.len().min(FIXED_BYTES));
    let (length, content) = rest.split_at(rest.len().min(2));
    let added = length.iter().fold(0i64, |sum, byte| sum << 8 | i64::from(*byte));
    FILE.with(|file| {
        let mut map = file.sound.clone();
        map.iter_mut().zip(header).for_each(|(cell, byte)| *cell ^= byte);
        let [start, block_bytes] = BLOCKS;
        map[start..].iter_mut().zip(content).for_each(|(cell, byte)| *cell = *byte);
        // An odd count is that of a writer at work, for whose end a reader waits: seldom, since it is slow.
        if bytes.last() != Some(&0xff) {
            (0..SHAPE[0]).for_each(|index| map[start + index * block_bytes] &= 0xfe);
        }
        let size = (map.len() as i64 + (added << 48 >> 48)).max(0);
        map.resize(size as usize, 0);
        let path = file.directory.path().join("map");
        fs::write(&path, &map).expect("the scratch directory is writable");
        let [blocks, cells, _] = SHAPE;
        let maps = [SharedMap::read(&path, caller(), blocks, cells), SharedMap::open(&path)];
        maps.into_iter().flatten().for_each(|map| read_all(&map));
    });
}

fn read_all(map: &SharedMap) {
    let mut copy = Vec::new();
    for index in 0..map.block_count().min(64) {
        if map.cell_count() <= 64 {
            map.block(index).read(&mut copy);
            assert_eq!(copy.len(), map.cell_count());
        }
        let Some(ring) = map.ring(index) else { continue };
        let mut reader = ring.reader();
        assert!(reader.waiting() <= ring.slot_count());
        for _ in 0..2 * ring.slot_count().min(64) {
            let _ = reader.take();
        }
    }
    if map.block_count() <= 64 && map.cell_count() <= 64 {
        let _ = map.counters();
    }
}

/// A killed run and the copy of its counters.
struct Killed {
    directory: TempDir,
    run: PathBuf,
    counters: SharedMap,
}

impl Killed {
    fn new(text: &str, has_checkpoint: bool) -> Self {
        let directory = tempfile::tempdir().expect("there is a directory for temporary files");
        let mut run = file::from_text(text.as_bytes()).expect("it is a run of the tests");
        run.progress.state = State::Running;
        if !has_checkpoint {
            run.series.clear();
        }
        let path = directory.path().join("a.run.json");
        fs::write(&path, file::to_text(&run)).expect("the scratch directory is writable");
        // The name that the engine gives to the counters of the first phase.
        let counters = SharedMap::create(&directory.path().join(".a.run.json.0.counters"), 1, CELLS);
        Self { directory, run: path, counters: counters.expect("the scratch directory is writable") }
    }
}

const TIMER: &str = include_str!("../../tardy/tests/run_files/recovered-timer.run.json");
const NOISE: &str = include_str!("../../tardy/tests/run_files/recovered-noise.run.json");

/// Opens a killed run whose cells have the values that `bytes` lists: two bytes for a cell's number, then its value. The run
/// that is recovered can be analysed, written and read again.
pub fn recover(bytes: &[u8]) {
    thread_local!(static KILLED: [Killed; 4] = [
        Killed::new(TIMER, false),
        Killed::new(TIMER, true),
        Killed::new(NOISE, false),
        Killed::new(NOISE, true),
    ]);
    let Some((choice, list)) = bytes.split_first() else { return };
    KILLED.with(|killed| {
        let killed = &killed[usize::from(choice & 3)];
        assert!(killed.directory.path().exists());
        let cells = cells_of(list, choice & 4 != 0);
        let block = killed.counters.block(0);
        block.cells().iter().zip(&cells).for_each(|(cell, value)| cell.set(*value));
        killed.counters.header(HEADER_RUN_START).set(u64::from(choice >> 3) << 20);
        killed.counters.header(HEADER_SAMPLES_KEPT).set(u64::MAX);
        let opened = recovery::open(&killed.run).expect("the run file is sound");
        let text = file::to_text(&opened.run);
        file::from_text(text.as_bytes()).expect("a recovered run can be read again");
        let findings = findings::of(&opened.run, &findings::Options::default());
        let _ = summary::text(&opened.run, &findings, 100, false);
    });
}

/// The cells that `list` describes. `is_sound`: made to agree with each other, as far as they can be.
fn cells_of(list: &[u8], is_sound: bool) -> Vec<u64> {
    let mut cells = vec![0; CELLS];
    for entry in list.chunks_exact(10) {
        let (index, value) = entry.split_at(2);
        let index = usize::from(u16::from_le_bytes([index[0], index[1]]));
        cells[index % CELLS] = u64::from_le_bytes(value.try_into().expect("a value has eight bytes"));
    }
    if is_sound && Cells(&cells).are_possible() {
        cells[Total::Stage as usize] = 1;
        mend(&mut cells, true);
    }
    cells
}
