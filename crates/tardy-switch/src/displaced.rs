//! A root queueing discipline that somebody else had set, and whose place a shaper took.

use serde::{Deserialize, Serialize};
use tardy_sys::qdiscs::{self, Qdisc, ROOT};

use super::shaper::HANDLE;

/// Kinds whose settings the kernel takes back as it shows them, and that have no classes of other people's making.
const RETURNING: [&str; 5] = ["pfifo", "bfifo", "pfifo_fast", "fq_codel", "fq"];

/// What was at a port's root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Displaced {
    kind: String,
    /// Upper 16 bits of its handle.
    major: u16,
    /// Its settings, as attributes of the kernel's.
    options: Vec<u8>,
}

impl Displaced {
    /// What stands at the root of `name`; nothing where that is tardy's own shaper or what the kernel hangs up by itself,
    /// which has no handle and comes back by itself.
    pub(super) fn at(name: &str) -> Option<Self> {
        let root = qdiscs::of(name).ok()?.into_iter().find(|qdisc| qdisc.parent == ROOT)?;
        Self::of(root)
    }

    fn of(root: Qdisc) -> Option<Self> {
        let major = (root.handle >> 16) as u16;
        let is_foreign = major != 0 && major != HANDLE;
        is_foreign.then_some(Self { kind: root.kind, major, options: root.options })
    }

    /// Whether it can be brought back.
    pub(super) fn returns(&self) -> bool {
        RETURNING.contains(&self.kind.as_str())
    }

    /// Its kind and handle, as tc has them.
    pub(super) fn describe(&self) -> String {
        format!("{} {:x}:", self.kind, self.major)
    }

    /// Brings it back to the root of `name`, where nobody has set another meanwhile; what cannot be brought back is left.
    pub(super) fn bring_back(&self, name: &str) -> Result<(), String> {
        if !self.returns() || Self::at(name).is_some() {
            return Ok(());
        }
        match qdiscs::set_root(name, &self.kind, self.major, &self.options) {
            Err(error) if !error.is_absent() => {
                Err(format!("{} at {name} does not come back: {error}", self.describe()))
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
    fn what_somebody_set_comes_back_as_it_was() {
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(error) => return eprintln!("skipped: no network namespace for this user: {error}"),
        };
        let outcome = namespace.run(|| {
            if let Err(error) = links::make_veth("p1", "e1", None, Some(4)) {
                return eprintln!("skipped: this kernel makes no veth: {error}");
            }
            assert_eq!(Displaced::at("p1"), None, "what the kernel hangs up by itself is nobody's");
            // struct tc_fifo_qopt: its limit.
            qdiscs::set_root("p1", "pfifo", 0x11, &77u32.to_ne_bytes()).unwrap();
            let was = Displaced::at("p1").unwrap();
            assert_eq!((was.describe().as_str(), was.returns()), ("pfifo 11:", true));
            qdiscs::delete_root("p1").unwrap();
            was.bring_back("p1").unwrap();
            assert_eq!(Displaced::at("p1"), Some(was.clone()));
            let another = Displaced { major: 0x12, ..was.clone() };
            another.bring_back("p1").unwrap();
            assert_eq!(Displaced::at("p1"), Some(was), "what was set meanwhile stays");
        });
        outcome.unwrap();
    }

    #[test]
    fn what_has_classes_does_not_come_back() {
        let root = |kind: &str| Qdisc { kind: kind.to_owned(), handle: 0x1_0000, ..Qdisc::default() };
        assert!(!Displaced::of(root("htb")).unwrap().returns());
        assert!(Displaced::of(root("fq_codel")).unwrap().returns());
    }
}
