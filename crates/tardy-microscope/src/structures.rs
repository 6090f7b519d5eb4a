//! Where the members of the kernel's structures are, from the type information in its image (`CONFIG_DEBUG_INFO_BTF`,
//! Documentation/bpf/btf.rst).

use btf_rs::{Btf, BtfType, Member, Type};
use thiserror::Error;

/// The structures of one kernel.
pub struct Structures(Btf);

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

impl Structures {
    /// Reads the section `.BTF`.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(section: &[u8]) -> Result<Self, Unknown> {
        Btf::from_bytes(section).map(Self).map_err(|_| Unknown::Types)
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
        let unknown = || Unknown::Member(format!("struct {structure} with {path}"));
        let mut within = self.find(structure).ok_or_else(unknown)?;
        let mut offset = 0;
        for name in path.split('.') {
            let (at, member) = self.member(&within, name).ok_or_else(unknown)?;
            offset += at;
            within = self.plain_type(&member).ok_or_else(unknown)?;
        }
        Ok(offset)
    }

    /// The size of a structure in bytes.
    ///
    /// # Errors
    /// If there is no such structure.
    pub fn size(&self, structure: &str) -> Result<u64, Unknown> {
        match self.find(structure) {
            Some(Type::Struct(found)) => Ok(found.size() as u64),
            _ => Err(Unknown::Member(format!("struct {structure}"))),
        }
    }

    fn find(&self, structure: &str) -> Option<Type> {
        let types = self.0.resolve_types_by_name(structure).ok()?;
        types.into_iter().find(|found| matches!(found, Type::Struct(_)))
    }

    fn member(&self, within: &Type, name: &str) -> Option<(u64, Member)> {
        let members = match within {
            Type::Struct(found) | Type::Union(found) => &found.members,
            _ => return None,
        };
        members.iter().find_map(|member| {
            let offset = u64::from(member.bit_offset() / 8);
            match self.0.resolve_name(member).unwrap_or_default() {
                own if own == name => Some((offset, member.clone())),
                own if own.is_empty() => {
                    let (inner, found) = self.member(&self.plain_type(member)?, name)?;
                    Some((offset + inner, found))
                }
                _ => None,
            }
        })
    }

    /// A member's type without `const`, `volatile` and names for other types.
    fn plain_type(&self, of: &dyn BtfType) -> Option<Type> {
        let mut found = self.0.resolve_chained_type(of).ok()?;
        while let Type::Const(_) | Type::Volatile(_) | Type::Typedef(_) = found {
            found = self.0.resolve_chained_type(found.as_btf_type()?).ok()?;
        }
        Some(found)
    }
}
