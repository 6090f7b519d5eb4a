//! The observer: a library that QEMU loads, which watches the guest and writes down how it executed.
//!
//! QEMU holds the guest's memory in a file without a name, which the observer maps to read it. Neither that nor the observer changes
//! what the guest executes: that a run with it is the run without it is checked after every run.

/// The names of its files in the emulator's working directory.
const LIBRARY: &str = "observer.so";
const ORDERS: &str = "orders";
/// The file that it writes.
pub(crate) const OBSERVED: &str = "observed";
/// The copy of the guest's memory that it makes at the end.
pub(crate) const MEMORY: &str = "memory";
/// The first QEMU whose interface hands out a copy of an instruction's bytes (`qemu_plugin_insn_data()`).
const COPYING_SINCE: u32 = 9;

/// The variants of the observer, by the version of QEMU's interface for plugins (docs/adr/0029-the-observer.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// For QEMU 7.2 to 8.2.
    Qemu7,
    /// For QEMU 9.0 and later.
    Qemu9,
}

impl Variant {
    /// The one for a QEMU of this version, such as `7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)`; `None` for a QEMU that is older than
    /// 7.2 or does not say its version.
    pub fn for_version(version: &str) -> Option<Self> {
        let mut numbers = version.split(['.', ' ']).map_while(|part| part.parse::<u32>().ok());
        match (numbers.next()?, numbers.next().unwrap_or(0)) {
            (COPYING_SINCE.., _) => Some(Self::Qemu9),
            (8, _) | (7, 2..) => Some(Self::Qemu7),
            _ => None,
        }
    }

    /// The file name of the library next to tardy.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Qemu7 => "tardy-observer-qemu7.so",
            Self::Qemu9 => "tardy-observer-qemu9.so",
        }
    }
}

/// An observer for one guest.
#[derive(Debug)]
pub struct Observer {
    library: Vec<u8>,
    orders: String,
    memory_mib: u32,
}

impl Observer {
    /// An observer whose library and orders have these contents, for a guest with that much memory.
    pub fn new(library: Vec<u8>, orders: String, memory_mib: u32) -> Self {
        Self { library, orders, memory_mib }
    }

    /// Gives it further orders.
    pub fn add_orders(&mut self, orders: &str) {
        self.orders += orders;
    }

    /// The files that it needs in the emulator's working directory.
    pub(crate) fn files(&self) -> [(&'static str, &[u8]); 4] {
        [(LIBRARY, &self.library), (ORDERS, self.orders.as_bytes()), (OBSERVED, b""), (MEMORY, b"")]
    }

    /// The length of the guest's memory in bytes, which is a file of the emulator.
    pub(crate) fn memory_bytes(&self) -> u64 {
        u64::from(self.memory_mib) << 20
    }

    /// The emulator's arguments with the observer. `arguments` are those without it.
    pub(crate) fn arguments(&self, arguments: &[String]) -> Vec<String> {
        let mut with_it = Vec::with_capacity(arguments.len() + 4);
        let mut is_machine = false;
        for argument in arguments {
            with_it.push(if is_machine {
                format!("{argument},memory-backend=ram")
            } else {
                argument.clone()
            });
            is_machine = argument == "-machine";
        }
        let memory = format!("memory-backend-memfd,id=ram,size={}M,share=on", self.memory_mib);
        let plugin = format!("./{LIBRARY},orders={ORDERS},observed={OBSERVED},memory={MEMORY}");
        with_it.extend(["-object".to_owned(), memory, "-plugin".to_owned(), plugin]);
        with_it
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variant_follows_from_the_version() {
        for (version, expected) in [
            ("7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)", Some(Variant::Qemu7)),
            ("8.2.2 (Debian 1:8.2.2+ds-0ubuntu1)", Some(Variant::Qemu7)),
            ("10.0.2 (Debian 1:10.0.2+ds-2)", Some(Variant::Qemu9)),
            ("5.2.0 (Debian 1:5.2+dfsg-11)", None),
            ("unknown", None),
        ] {
            assert_eq!(Variant::for_version(version), expected, "{version}");
        }
    }

    #[test]
    fn the_guest_gets_its_memory_from_a_file() {
        let observer = Observer::new(Vec::new(), String::new(), 64);
        let arguments = observer.arguments(&["-machine".to_owned(), "q35".to_owned(), "-cpu".to_owned()]);
        assert_eq!(arguments[..3], ["-machine", "q35,memory-backend=ram", "-cpu"]);
        assert!(arguments[4].contains("size=64M"), "{arguments:?}");
        assert_eq!(arguments[6], "./observer.so,orders=orders,observed=observed,memory=memory");
    }
}
