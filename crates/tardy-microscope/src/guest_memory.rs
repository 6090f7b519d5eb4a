//! The guest's memory at the end of the run, by the kernel's virtual addresses.

use crate::little_endian::number;

/// The guest's physical memory.
pub trait PhysicalMemory {
    /// Fills `into` from this address on, and says whether so much is there.
    fn read(&self, address: u64, into: &mut [u8]) -> bool;
}

/// The memory with the kernel's page tables.
pub struct GuestMemory<'a> {
    physical: &'a dyn PhysicalMemory,
    /// The physical address of the highest table.
    page_tables: u64,
}

const PAGE: u64 = 4096;
const PRESENT: u64 = 1;
const LARGE: u64 = 0x80;

impl<'a> GuestMemory<'a> {
    /// The memory with these page tables.
    pub fn of(physical: &'a dyn PhysicalMemory, page_tables: u64) -> Self {
        Self { physical, page_tables }
    }

    /// The bytes at a virtual address; `None` if some are not mapped.
    pub fn bytes(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        let mut done = 0;
        while done < length {
            let at = address.checked_add(done as u64)?;
            let part = (PAGE - at % PAGE).min((length - done) as u64) as usize;
            let read = self.physical.read(self.translate(at)?, &mut bytes[done..done + part]);
            read.then_some(())?;
            done += part;
        }
        Some(bytes)
    }

    /// A number of at most eight bytes.
    pub fn number(&self, address: u64, length: usize) -> Option<u64> {
        Some(number(&self.bytes(address, length)?))
    }

    /// A text that ends with a zero, of at most `length` bytes.
    pub fn text(&self, address: u64, length: usize) -> Option<String> {
        let bytes = self.bytes(address, length)?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(length);
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    /// Walks the tables: four levels, with pages of 4 KiB, 2 MiB and 1 GiB (Intel SDM volume 3, 4.5).
    fn translate(&self, address: u64) -> Option<u64> {
        let mut table = self.page_tables;
        for shift in [39, 30, 21, 12] {
            let mut entry = [0; 8];
            self.physical.read(table + (address >> shift & 511) * 8, &mut entry).then_some(())?;
            let entry = u64::from_le_bytes(entry);
            if entry & PRESENT == 0 {
                return None;
            }
            table = entry & 0x000f_ffff_ffff_f000;
            if shift == 12 || (shift < 39 && entry & LARGE != 0) {
                let inside = (1 << shift) - 1;
                return Some(table & !inside | address & inside);
            }
        }
        None
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    impl PhysicalMemory for Vec<u8> {
        fn read(&self, address: u64, into: &mut [u8]) -> bool {
            let from = address as usize;
            let bytes = self.get(from..from.saturating_add(into.len()));
            bytes.map(|bytes| into.copy_from_slice(bytes)).is_some()
        }
    }

    /// The first virtual address of [`memory`].
    pub(crate) const BASE: u64 = 0xffff_ffff_8000_0000;
    /// Where its page tables are.
    pub(crate) const TABLES: u64 = 0;
    /// Before it in physical memory: three tables for pages of 2 MiB.
    const CONTENT: usize = 0x20_0000;

    /// Memory in which `content` is at [`BASE`].
    pub(crate) fn memory(content: &[u8]) -> Vec<u8> {
        let mut memory = vec![0; CONTENT];
        let mut put = |at: u64, entry: u64| {
            memory[at as usize..][..8].copy_from_slice(&entry.to_le_bytes());
        };
        put(TABLES + 511 * 8, 0x1000 | PRESENT);
        put(0x1000 + 510 * 8, 0x2000 | PRESENT);
        put(0x2000, CONTENT as u64 | PRESENT | LARGE);
        memory.extend(content);
        memory
    }

    #[test]
    fn bytes_are_found_through_the_tables() {
        let memory = memory(&[&[0; 4094][..], b"over\0two"].concat());
        let memory = GuestMemory::of(&memory, TABLES);
        assert_eq!(memory.text(BASE + 4094, 8).as_deref(), Some("over"));
        assert_eq!(memory.number(BASE + 4094, 2), Some(u64::from(b'v') << 8 | u64::from(b'o')));
        assert_eq!(memory.bytes(BASE + 4094, 100), None);
        assert_eq!(memory.bytes(BASE - 1, 1), None);
        assert_eq!(memory.bytes(u64::MAX, 2), None);
    }
}
