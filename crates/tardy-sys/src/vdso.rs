//! The kernel's clock_gettime in the vDSO, which it maps into every process (vdso(7)).
//!
//! The C libraries call it too, with a few checks before each call. A probe reads the clock first after it wakes up,
//! so those checks would count as the kernel's latency; it therefore looks the function up once and calls it
//! directly. Without a vDSO (under Valgrind, in some sandboxes), and on other processors, it calls the C library's
//! function.
//!
//! The kernel's image is a small ELF file without section headers, so the number of symbols is not stated. The linker scripts
//! (arch/*/kernel/vdso/vdso.lds.S) put the names right after the symbols, which gives the number. Alternative not taken: the
//! hash tables, of which there are two kinds; a kernel may have either or both.

/// The signature of clock_gettime(2); the kernel's function does not set errno.
pub(crate) type ClockGettime = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> libc::c_int;

/// The fastest available clock_gettime.
pub(crate) fn clock_gettime() -> ClockGettime {
    #[cfg(all(target_pointer_width = "64", any(target_arch = "x86_64", target_arch = "aarch64")))]
    if let Some(function) = image::of_this_process().and_then(|image| image.function(image::CLOCK_GETTIME)) {
        // SAFETY: the kernel's function of this name has this type, and stays mapped.
        return unsafe { std::mem::transmute::<*const u8, ClockGettime>(function) };
    }
    libc::clock_gettime
}

#[cfg(all(target_pointer_width = "64", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod image {
    /// The name of the kernel's clock_gettime.
    pub(super) const CLOCK_GETTIME: &[u8] =
        if cfg!(target_arch = "aarch64") { b"__kernel_clock_gettime\0" } else { b"__vdso_clock_gettime\0" };

    /// Bytes of the image that always exist: its first page.
    const FIRST_BYTES: usize = 4096;
    const HEADER_PHOFF: u64 = 32;
    const HEADER_PHENTSIZE: u64 = 54;
    const HEADER_PHNUM: u64 = 56;
    const SEGMENT_LOAD: u32 = 1;
    const SEGMENT_DYNAMIC: u32 = 2;
    const DYNAMIC_STRTAB: u64 = 5;
    const DYNAMIC_SYMTAB: u64 = 6;
    const SYMBOL_BYTES: u64 = 24;

    /// An ELF image (elf(5), 64-bit), loaded as it is. Offsets are from its first byte.
    pub(super) struct Image<'a>(&'a [u8]);

    /// The image that the kernel mapped into this process, if there is one.
    pub(super) fn of_this_process() -> Option<Image<'static>> {
        // SAFETY: getauxval takes an integer.
        let start = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as *const u8;
        if start.is_null() {
            return None;
        }
        // SAFETY: the kernel maps the image read-only at this address, in whole pages and for good.
        let first = Image(unsafe { std::slice::from_raw_parts(start, FIRST_BYTES) });
        let bytes = usize::try_from(first.segment(SEGMENT_LOAD)?.bytes).ok()?;
        // SAFETY: as above; an image is one segment, and that is its length.
        Some(Image(unsafe { std::slice::from_raw_parts(start, bytes) }))
    }

    struct Segment {
        offset: u64,
        address: u64,
        bytes: u64,
    }

    impl<'a> Image<'a> {
        /// The function `name`, which ends in a NUL.
        pub(super) fn function(&self, name: &[u8]) -> Option<*const u8> {
            // Addresses in the image are link addresses: from 0, or far from 0 before Linux 3.16.
            let loaded = self.segment(SEGMENT_LOAD)?;
            let base = loaded.address.wrapping_sub(loaded.offset);
            let symbols = self.dynamic(DYNAMIC_SYMTAB)?.wrapping_sub(base);
            let names = self.dynamic(DYNAMIC_STRTAB)?.wrapping_sub(base);
            let count = names.checked_sub(symbols)? / SYMBOL_BYTES;
            // The first symbol of every table is an empty one.
            let symbol = (1..count).map(|index| symbols + index * SYMBOL_BYTES).find(|symbol| {
                let at = self.u32(*symbol).map(|offset| names.saturating_add(u64::from(offset)));
                at.and_then(|at| self.from(at)).is_some_and(|found| found.starts_with(name))
            })?;
            let address = self.u64(symbol + 8)?;
            self.from(address.wrapping_sub(base)).filter(|code| !code.is_empty()).map(<[u8]>::as_ptr)
        }

        /// The first segment of this kind.
        fn segment(&self, kind: u32) -> Option<Segment> {
            let table = self.u64(HEADER_PHOFF)?;
            let (size, count) = (self.u16(HEADER_PHENTSIZE)?, self.u16(HEADER_PHNUM)?);
            let entry = (0..count)
                .map(|index| table.saturating_add(u64::from(index) * u64::from(size)))
                .find(|entry| self.u32(*entry) == Some(kind))?;
            let field = |at: u64| self.u64(entry.saturating_add(at));
            Some(Segment { offset: field(8)?, address: field(16)?, bytes: field(40)? })
        }

        /// The first value with this tag in the dynamic section.
        fn dynamic(&self, tag: u64) -> Option<u64> {
            let section = self.segment(SEGMENT_DYNAMIC)?;
            let entry = (0..section.bytes / 16)
                .map(|index| section.offset.saturating_add(index * 16))
                .find(|entry| self.u64(*entry) == Some(tag))?;
            self.u64(entry.saturating_add(8))
        }

        fn from(&self, offset: u64) -> Option<&'a [u8]> {
            self.0.get(usize::try_from(offset).ok()?..)
        }

        fn u16(&self, offset: u64) -> Option<u16> {
            Some(u16::from_ne_bytes(*self.from(offset)?.first_chunk()?))
        }

        fn u32(&self, offset: u64) -> Option<u32> {
            Some(u32::from_ne_bytes(*self.from(offset)?.first_chunk()?))
        }

        fn u64(&self, offset: u64) -> Option<u64> {
            Some(u64::from_ne_bytes(*self.from(offset)?.first_chunk()?))
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_name_that_is_not_there_is_not_found() {
            let Some(image) = of_this_process() else { return };
            assert!(image.function(CLOCK_GETTIME).is_some(), "every 64-bit kernel's image has it");
            assert!(
                image.function(b"__vdso_clock_get\0").is_none(),
                "the beginning of a name is not the name"
            );
            assert!(image.function(b"\0").is_none());
        }

        #[test]
        fn a_damaged_image_has_no_function_beyond_its_end() {
            let Some(Image(whole)) = of_this_process() else { return };
            for length in 0..whole.len() {
                let cut = Image(&whole[..length]);
                if let Some(function) = cut.function(CLOCK_GETTIME) {
                    assert!(whole[..length].as_ptr_range().contains(&function), "{length}");
                }
            }
            for position in 0..1024.min(whole.len()) {
                let mut changed = whole.to_vec();
                changed[position..].iter_mut().take(8).for_each(|byte| *byte = !*byte);
                if let Some(function) = Image(&changed).function(CLOCK_GETTIME) {
                    assert!(changed.as_ptr_range().contains(&function), "{position}");
                }
            }
        }
    }
}
