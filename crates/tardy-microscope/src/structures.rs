//! Where the members of the kernel's structures are, from the type information in its image (`CONFIG_DEBUG_INFO_BTF`).
//!
//! The format is described in Documentation/bpf/btf.rst: a header, a list of types, and their names. A type is a name, a word with its
//! kind and the number of its members, its size or the number of another type, and what its kind adds. Types are numbered from 1.
//!
//! Own code, because the library for it (btf-rs) is under the LGPL, and tardy is linked statically.

use thiserror::Error;

use crate::little_endian::word;

const MAGIC: u32 = 0xeb9f;
/// The length of a type without what its kind adds, and of a member.
const TYPE_BYTES: usize = 12;
const MEMBER_BYTES: usize = 12;
/// Typedefs and qualifiers that are followed to a member's type; more are a circle.
const CHAIN_MAX: usize = 32;

/// The structures of one kernel.
#[derive(Default)]
pub struct Structures {
    types: Vec<u8>,
    names: Vec<u8>,
    /// Where each type begins; that of type 1 is the first.
    starts: Vec<usize>,
}

/// Something that an observer needs and this kernel does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unknown {
    /// The image has no readable type information.
    #[error("the kernel's image has no type information (CONFIG_DEBUG_INFO_BTF)")]
    Types,
    /// A structure or a member.
    #[error("this kernel has no {0}")]
    Member(String),
    /// A symbol.
    #[error("this kernel has no symbol {0}")]
    Symbol(&'static str),
}

/// A structure or a union.
#[derive(Clone, Copy)]
struct Composite {
    start: usize,
    members: usize,
    /// Whether offsets of members contain the widths of bit fields.
    has_bit_fields: bool,
    size: u64,
}

/// Kinds of types, by their numbers.
mod kind {
    pub(super) const INTEGER: u32 = 1;
    pub(super) const STRUCTURE: u32 = 4;
    pub(super) const UNION: u32 = 5;
    pub(super) const TYPEDEF: u32 = 8;
    pub(super) const VOLATILE: u32 = 9;
    pub(super) const CONST: u32 = 10;
    pub(super) const RESTRICT: u32 = 11;
    pub(super) const VARIABLE: u32 = 14;
    pub(super) const TYPE_TAG: u32 = 18;
}

impl Structures {
    /// Reads the section `.BTF`. Does not panic on any bytes.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(section: &[u8]) -> Result<Self, Unknown> {
        Self::read(section).ok_or(Unknown::Types)
    }

    fn read(section: &[u8]) -> Option<Self> {
        if word(section, 0)? & 0xffff != MAGIC {
            return None;
        }
        let header = word(section, 4)? as usize;
        let part = |at: usize| -> Option<Vec<u8>> {
            let start = header.checked_add(word(section, at)? as usize)?;
            Some(section.get(start..start.checked_add(word(section, at + 4)? as usize)?)?.to_vec())
        };
        let (types, names) = (part(8)?, part(16)?);
        let mut starts = Vec::new();
        let mut at = 0;
        while at < types.len() {
            starts.push(at);
            at = at.checked_add(TYPE_BYTES)?.checked_add(added_bytes(word(&types, at + 4)?)?)?;
        }
        Some(Self { types, names, starts })
    }

    /// Whether the kernel has this structure.
    pub fn has(&self, structure: &str) -> bool {
        self.find(structure).is_some()
    }

    /// The offset in bytes of a member, such as `node.expires`. Members of unnamed unions and structures count as the outer one's.
    ///
    /// # Errors
    /// If there is no such member.
    pub fn offset(&self, structure: &str, path: &str) -> Result<u64, Unknown> {
        Ok(self.bit(structure, path)? / 8)
    }

    /// The offset in bits of a member, which may be a bit field.
    ///
    /// # Errors
    /// If there is no such member.
    pub fn bit(&self, structure: &str, path: &str) -> Result<u64, Unknown> {
        let unknown = || Unknown::Member(format!("struct {structure} with {path}"));
        let mut within = self.find(structure);
        let mut offset = 0;
        for name in path.split('.') {
            let (at, member) = self.member(within.ok_or_else(unknown)?, name, 0).ok_or_else(unknown)?;
            offset += at;
            within = self.composite(member);
        }
        Ok(offset)
    }

    /// The size of a structure in bytes.
    ///
    /// # Errors
    /// If there is no such structure.
    pub fn size(&self, structure: &str) -> Result<u64, Unknown> {
        let found = self.find(structure).ok_or_else(|| Unknown::Member(format!("struct {structure}")))?;
        Ok(found.size)
    }

    /// The size in bytes of a variable of each CPU that is a number; others are not in this section. `None` if there is no such variable.
    pub fn variable_bytes(&self, name: &str) -> Option<u64> {
        let mut all = self.starts.iter().copied().filter(|start| self.name(*start) == Some(name.as_bytes()));
        let variable = all.find(|start| self.kind(*start) == Some(kind::VARIABLE))?;
        let number = self.underlying(word(&self.types, variable + 8)?)?;
        (self.kind(number)? == kind::INTEGER).then_some(u64::from(word(&self.types, number + 8)?))
    }

    fn find(&self, structure: &str) -> Option<Composite> {
        let all = self.starts.iter().copied().filter(|start| self.name(*start) == Some(structure.as_bytes()));
        all.filter(|start| self.kind(*start) == Some(kind::STRUCTURE))
            .find_map(|start| self.composite_at(start))
    }

    /// A member's offset in bits and the number of its type.
    fn member(&self, within: Composite, name: &str, depth: usize) -> Option<(u64, u32)> {
        (0..within.members).find_map(|index| {
            let start = within.start + TYPE_BYTES + MEMBER_BYTES * index;
            let (typed, offset) = (word(&self.types, start + 4)?, word(&self.types, start + 8)?);
            let bits = if within.has_bit_fields { offset & 0xff_ffff } else { offset };
            let at = u64::from(bits);
            match self.name(start)? {
                own if own == name.as_bytes() => Some((at, typed)),
                b"" if depth < CHAIN_MAX => {
                    let (inner, found) = self.member(self.composite(typed)?, name, depth + 1)?;
                    Some((at + inner, found))
                }
                _ => None,
            }
        })
    }

    /// The structure or union that a type is, without qualifiers and names for other types.
    fn composite(&self, typed: u32) -> Option<Composite> {
        self.composite_at(self.underlying(typed)?)
    }

    /// Where the type begins that this one is, without qualifiers and names for other types.
    fn underlying(&self, typed: u32) -> Option<usize> {
        let mut typed = typed;
        for _ in 0..CHAIN_MAX {
            let start = *self.starts.get((typed as usize).checked_sub(1)?)?;
            match self.kind(start)? {
                kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT | kind::TYPE_TAG => {
                    typed = word(&self.types, start + 8)?;
                }
                _ => return Some(start),
            }
        }
        None
    }

    fn composite_at(&self, start: usize) -> Option<Composite> {
        let info = word(&self.types, start + 4)?;
        matches!(kind_of(info), kind::STRUCTURE | kind::UNION).then_some(Composite {
            start,
            members: (info & 0xffff) as usize,
            has_bit_fields: info >> 31 == 1,
            size: u64::from(word(&self.types, start + 8)?),
        })
    }

    fn kind(&self, start: usize) -> Option<u32> {
        word(&self.types, start + 4).map(kind_of)
    }

    /// The name of the type or member that begins there.
    fn name(&self, start: usize) -> Option<&[u8]> {
        let from = self.names.get(word(&self.types, start)? as usize..)?;
        from.split(|byte| *byte == 0).next()
    }
}

fn kind_of(info: u32) -> u32 {
    info >> 24 & 0x1f
}

/// The bytes that a type's kind adds; `None` for a kind that is not known, after which nothing can be read.
fn added_bytes(info: u32) -> Option<usize> {
    let members = (info & 0xffff) as usize;
    match kind_of(info) {
        // Integers, variables, and tags of declarations.
        1 | 14 | 17 => Some(4),
        // Arrays.
        3 => Some(12),
        // Pointers, forward declarations, qualifiers, functions, floating-point numbers, tags of types.
        2 | 7..=12 | 16 | 18 => Some(0),
        // Structures, unions, sections of data, and enumerations of 64 bits.
        4 | 5 | 15 | 19 => Some(12 * members),
        // Enumerations and the parameters of functions.
        6 | 13 => Some(8 * members),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `struct timer { int; union { struct node node; }; const node_t after; }`, `struct node { int; int expires; }`, `const int count`.
    pub(crate) fn section() -> Vec<u8> {
        let names = b"\0timer\0node\0expires\0after\0node_t\0int\0count\0";
        let at = |name: &str| {
            let wanted = [b"\0", name.as_bytes(), b"\0"].concat();
            names.windows(wanted.len()).position(|window| window == wanted).unwrap() as u32 + 1
        };
        let info = |kind: u32, members: u32| kind << 24 | members;
        let types: Vec<u32> = [
            // 1: int
            &[at("int"), info(1, 0), 4, 0x20][..],
            // 2: struct node
            &[at("node"), info(4, 2), 8, 0, 1, 0, at("expires"), 1, 32],
            // 3: typedef struct node node_t, 4: const node_t
            &[at("node_t"), info(8, 0), 2, 0, info(10, 0), 3],
            // 5: the union without a name
            &[0, info(5, 1), 8, at("node"), 2, 0],
            // 6: struct timer
            &[at("timer"), info(4, 3), 24, at("int"), 1, 0, 0, 5, 64, at("after"), 4, 128],
            // 7: const int, 8: the variable
            &[0, info(10, 0), 1, at("count"), info(14, 0), 7, 1],
        ]
        .concat();
        let length = 4 * types.len() as u32;
        let header = [MAGIC | 1 << 16, 24, 0, length, length, names.len() as u32];
        let mut section: Vec<u8> =
            header.iter().chain(&types).flat_map(|number| number.to_le_bytes()).collect();
        section.extend(names);
        section
    }

    #[test]
    fn members_are_found_through_unions_without_names_and_types_with_others() {
        let structures = Structures::of(&section()).unwrap();
        assert_eq!(structures.offset("timer", "node.expires"), Ok(12));
        assert_eq!(structures.offset("timer", "after.expires"), Ok(20));
        assert_eq!((structures.size("timer"), structures.size("node")), (Ok(24), Ok(8)));
        assert!(structures.has("node") && !structures.has("node_t"));
        assert_eq!(
            ["count", "node", "none"].map(|name| structures.variable_bytes(name)),
            [Some(4), None, None]
        );
        let error = structures.offset("timer", "node.function").unwrap_err();
        assert_eq!(error.to_string(), "this kernel has no struct timer with node.function");
    }

    #[test]
    fn other_bytes_are_refused() {
        assert!(matches!(Structures::of(b"no types"), Err(Unknown::Types)));
        assert!(matches!(Structures::of(&section()[..40]), Err(Unknown::Types)));
    }

    proptest! {
        #[test]
        fn damaged_types_do_not_panic(at in any::<prop::sample::Index>(), value: u8) {
            let mut section = section();
            let at = at.index(section.len());
            section[at] = value;
            if let Ok(structures) = Structures::of(&section) {
                drop(structures.offset("timer", "node.expires"));
                drop(structures.size("node"));
                let _ = structures.variable_bytes("count");
            }
        }
    }
}
