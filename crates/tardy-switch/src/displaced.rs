//! Another program's root queueing discipline, which a shaper replaced.

use serde::{Deserialize, Serialize};
use tardy_sys::qdiscs::{self, Qdisc, ROOT};

use super::shaper::HANDLE;

/// Kinds whose settings the kernel accepts in the form in which it shows them, and that have no user-defined classes.
const RESTORABLE: [&str; 5] = ["pfifo", "bfifo", "pfifo_fast", "fq_codel", "fq"];

/// The former queueing discipline at a port's root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Displaced {
    kind: String,
    /// Upper 16 bits of its handle.
    major: u16,
    /// Its settings, as attributes of netlink.
    options: Vec<u8>,
}

impl Displaced {
    /// The queueing discipline at the root of `name`; `None` if it is tardy's own shaper or the kernel's default, which has no
    /// handle and which the kernel attaches again.
    pub(super) fn at(name: &str) -> Option<Self> {
        let root = qdiscs::of(name).ok()?.into_iter().find(|qdisc| qdisc.parent == ROOT)?;
        Self::of(root)
    }

    fn of(root: Qdisc) -> Option<Self> {
        let major = (root.handle >> 16) as u16;
        let is_foreign = major != 0 && major != HANDLE;
        is_foreign.then_some(Self { kind: root.kind, major, options: root.options })
    }

    /// Whether it can be restored.
    pub(super) fn is_restorable(&self) -> bool {
        RESTORABLE.contains(&self.kind.as_str())
    }

    /// Its kind and handle, as tc shows them.
    pub(super) fn describe(&self) -> String {
        format!("{} {:x}:", self.kind, self.major)
    }

    /// Restores it at the root of `name`, unless another one has been set there since or it cannot be restored.
    pub(super) fn restore(&self, name: &str) -> Result<(), String> {
        if !self.is_restorable() || Self::at(name).is_some() {
            return Ok(());
        }
        match qdiscs::set_root(name, &self.kind, self.major, &self.options) {
            Err(error) if !error.is_absent() => {
                Err(format!("{} at {name} cannot be restored: {error}", self.describe()))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_sys::links;
    use tardy_sys::network::Namespace;

    #[test]
    fn another_programs_discipline_is_restored_as_it_was() {
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(error) => return eprintln!("skipped: no network namespace for this user: {error}"),
        };
        let outcome = namespace.run(|| {
            if let Err(error) = links::make_veth("p1", "e1", None, Some(4)) {
                return eprintln!("skipped: this kernel cannot create a veth: {error}");
            }
            assert_eq!(Displaced::at("p1"), None, "the kernel's default is not another program's");
            // struct tc_fifo_qopt: its limit.
            qdiscs::set_root("p1", "pfifo", 0x11, &77u32.to_ne_bytes()).unwrap();
            let was = Displaced::at("p1").unwrap();
            assert_eq!((was.describe().as_str(), was.is_restorable()), ("pfifo 11:", true));
            qdiscs::delete_root("p1").unwrap();
            was.restore("p1").unwrap();
            assert_eq!(Displaced::at("p1"), Some(was.clone()));
            let another = Displaced { major: 0x12, ..was.clone() };
            another.restore("p1").unwrap();
            assert_eq!(Displaced::at("p1"), Some(was), "a discipline that was set since stays");
        });
        outcome.unwrap();
    }

    #[test]
    fn a_discipline_with_classes_is_not_restored() {
        let root = |kind: &str| Qdisc { kind: kind.to_owned(), handle: 0x1_0000, ..Qdisc::default() };
        assert!(!Displaced::of(root("htb")).unwrap().is_restorable());
        assert!(Displaced::of(root("fq_codel")).unwrap().is_restorable());
    }
}
