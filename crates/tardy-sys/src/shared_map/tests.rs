//! Maps in files and in memory, their copies, and files that are not maps.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

fn path(directory: &tempfile::TempDir) -> PathBuf {
    directory.path().join("map")
}

/// A map of one block in memory, which Miri can check.
fn in_memory(cells: usize, ring_slots: usize) -> SharedMap {
    let shape = Shape { blocks: 1, cells, ring_slots };
    SharedMap::in_memory(Path::new("map"), shape.map_bytes().unwrap(), shape).unwrap()
}

#[test]
#[cfg_attr(miri, ignore = "Miri does not map files")]
fn one_process_reads_what_another_writes() {
    let directory = tempfile::tempdir().unwrap();
    let writer = SharedMap::create(&path(&directory), 3, 10).unwrap();
    let reader = SharedMap::open(&path(&directory)).unwrap();
    writer.header(0).set(77);
    let writing = writer.block(2).writing();
    writer.block(2).cells()[9].set(u64::MAX);
    drop(writing);
    assert_eq!(reader.header(0).get(), 77);
    let mut copy = Vec::new();
    assert!(reader.block(2).read(&mut copy));
    assert_eq!(copy, [0, 0, 0, 0, 0, 0, 0, 0, 0, u64::MAX]);
}

#[test]
#[cfg_attr(miri, ignore = "Miri does not map files")]
fn each_block_has_a_separate_ring_if_requested() {
    let directory = tempfile::tempdir().unwrap();
    let supervisor = SharedMap::create_with_rings(&path(&directory), 3, 10, 4).unwrap();
    let probe = SharedMap::open(&path(&directory)).unwrap();
    for index in 0..3 {
        let mut writer = probe.ring(index).unwrap().writer();
        assert_eq!((0..5).filter(|_| writer.put([index as u64; 3])).count(), 4);
        probe.block(index).cells().iter().for_each(|cell| cell.set(u64::MAX));
    }
    for index in 0..3 {
        let mut reader = supervisor.ring(index).unwrap().reader();
        let taken: Vec<_> = std::iter::from_fn(|| reader.take()).collect();
        assert_eq!(taken, [[index as u64; 3]; 4]);
    }
    let without = SharedMap::create(&directory.path().join("without"), 1, 1).unwrap();
    assert!(without.ring(0).is_none());
    assert!(SharedMap::create_with_rings(&directory.path().join("odd"), 1, 1, 3).is_err());
}

#[test]
fn a_copy_is_never_torn() {
    let map = in_memory(if cfg!(miri) { 4 } else { 100 }, 0);
    let copies = if cfg!(miri) { 20 } else { 2000 };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let block = map.block(0);
            while !stop.load(Ordering::Relaxed) {
                let writing = block.writing();
                block.cells().iter().for_each(|cell| cell.add(1));
                drop(writing);
                // A writer without a pause can keep the reader from every copy for minutes.
                (0..200).for_each(|_| std::hint::spin_loop());
            }
        });
        let mut copy = Vec::new();
        let mut whole = 0;
        while whole < copies {
            if map.block(0).read(&mut copy) {
                assert!(copy.iter().all(|value| *value == copy[0]), "{copy:?}");
                whole += 1;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_writer_that_died_during_a_write_is_detected() {
    let map = in_memory(4, 0);
    map.block(0).memory.sequence.store(5, Ordering::Relaxed);
    assert!(!map.block(0).read(&mut Vec::new()));
}

#[test]
fn blocks_and_rings_do_not_overlap() {
    let mut map = in_memory(3, 2);
    map.bytes_mut().fill(0);
    let block = map.block(0).with_cells::<3>();
    block.cells().iter().for_each(|cell| cell.set(u64::MAX));
    let ring = map.ring(0).unwrap();
    let (mut writer, mut reader) = (ring.writer(), ring.reader());
    std::thread::scope(|scope| {
        scope.spawn(move || assert!(writer.put([1, 2, 3]) && writer.put([4, 5, 6])));
        block.ask_to_end();
    });
    assert_eq!([reader.take(), reader.take(), reader.take()], [Some([1, 2, 3]), Some([4, 5, 6]), None]);
    assert!(map.block(0).is_asked_to_end() && map.header(0).get() == 0);
}

#[test]
#[cfg_attr(miri, ignore = "Miri does not map files")]
fn a_map_is_in_use_while_it_is_open() {
    let directory = tempfile::tempdir().unwrap();
    let map = SharedMap::create(&path(&directory), 1, 4).unwrap();
    assert!(is_in_use(map.path()).unwrap());
    drop(map);
    assert!(!is_in_use(&path(&directory)).unwrap());
}

#[test]
#[cfg_attr(miri, ignore = "Miri does not map files")]
fn a_file_is_read_without_its_rings_and_only_if_it_is_that_map() {
    let directory = tempfile::tempdir().unwrap();
    let file = path(&directory);
    let map = SharedMap::create_with_rings(&file, 2, 10, 8).unwrap();
    map.header(3).set(5);
    map.block(1).cells()[9].set(42);
    let owner = crate::files::caller();
    let copy = SharedMap::read(&file, owner, 2, 10).unwrap();
    let mut cells = Vec::new();
    assert!(copy.block(1).read(&mut cells) && copy.ring(1).is_none());
    assert_eq!((cells[9], copy.header(3).get()), (42, 5));
    assert!(is_in_use(&file).unwrap());
    drop(copy);
    assert!(is_in_use(&file).unwrap(), "a copy does not release the lock");
    for (owner, blocks, cells) in [(owner + 1, 2, 10), (owner, 3, 10), (owner, 2, 11)] {
        assert!(matches!(SharedMap::read(&file, owner, blocks, cells), Err(MapError::Foreign { .. })));
    }
    let size = file.metadata().unwrap().len();
    File::options().write(true).open(&file).unwrap().set_len(size - 64).unwrap();
    assert!(matches!(SharedMap::read(&file, owner, 2, 10), Err(MapError::Foreign { .. })), "truncated");
    map.remove().unwrap();
    std::os::unix::fs::symlink(directory.path().join("elsewhere"), &file).unwrap();
    assert!(matches!(SharedMap::read(&file, owner, 2, 10), Err(MapError::Io { .. })), "a link");
}

#[test]
#[cfg_attr(miri, ignore = "Miri does not map files")]
fn files_that_are_not_maps_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = path(&directory);
    std::fs::write(&file, b"short").unwrap();
    assert!(matches!(SharedMap::open(&file), Err(MapError::Foreign { .. })));
    std::fs::write(&file, vec![0; 8192]).unwrap();
    assert!(matches!(SharedMap::open(&file), Err(MapError::Foreign { .. })));
    let mut lying = vec![0; 8192];
    let lies = [[1 << 60, 1 << 60, 0], [1, 1, 1 << 60], [1, 1, 3], [u64::MAX, 0, u64::MAX], [0, 0, 0]];
    for lie in lies {
        for (cell, value) in [MAGIC, VERSION].into_iter().chain(lie).enumerate() {
            lying[cell * 8..][..8].copy_from_slice(&u64::to_ne_bytes(value));
        }
        std::fs::write(&file, &lying).unwrap();
        assert!(matches!(SharedMap::open(&file), Err(MapError::Foreign { .. })), "{lie:?}");
    }
    assert!(SharedMap::create(&file, 1, 1).is_err(), "never overwrites");
}
