//! Reads attributes from untrusted bytes.

/// A received attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'bytes> {
    /// Its type, without the flags for nesting and byte order.
    pub kind: u16,
    /// Its value.
    pub value: &'bytes [u8],
}

impl<'bytes> Attribute<'bytes> {
    /// The nested attributes.
    pub fn inner(&self) -> Attributes<'bytes> {
        Attributes::of(self.value)
    }

    /// Its value as a text, up to the NUL.
    pub fn text(&self) -> String {
        let end = self.value.iter().position(|byte| *byte == 0).unwrap_or(self.value.len());
        String::from_utf8_lossy(&self.value[..end]).into_owned()
    }

    /// Its value as an unsigned number of one, two, four or eight bytes.
    pub fn number(&self) -> Option<u64> {
        match *self.value {
            [a] => Some(u64::from(a)),
            [a, b] => Some(u64::from(u16::from_ne_bytes([a, b]))),
            [a, b, c, d] => Some(u64::from(u32::from_ne_bytes([a, b, c, d]))),
            _ => Some(u64::from_ne_bytes(self.value.try_into().ok()?)),
        }
    }
}

/// A sequence of attributes; a truncated one is left out.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'bytes> {
    rest: &'bytes [u8],
}

impl<'bytes> Attributes<'bytes> {
    /// The attributes in `bytes`.
    pub fn of(bytes: &'bytes [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The first attribute of a type.
    pub fn find(mut self, kind: u16) -> Option<Attribute<'bytes>> {
        self.by_ref().find(|attribute| attribute.kind == kind)
    }

    /// The first attribute of a type, as a number.
    pub fn number(self, kind: u16) -> Option<u64> {
        self.find(kind)?.number()
    }
}

impl<'bytes> Iterator for Attributes<'bytes> {
    type Item = Attribute<'bytes>;

    fn next(&mut self) -> Option<Attribute<'bytes>> {
        /// NLA_F_NESTED and NLA_F_NET_BYTEORDER.
        const FLAGS: u16 = 0xc000;
        let head = self.rest.get(..4)?;
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let kind = u16::from_ne_bytes([head[2], head[3]]) & !FLAGS;
        let value = self.rest.get(4..length)?;
        self.rest = self.rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(Attribute { kind, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_can_be_parsed() {
        for length in 0..40 {
            for byte in [0, 1, 4, 5, 0xff] {
                let bytes = vec![byte; length];
                assert!(Attributes::of(&bytes).count() <= length);
            }
        }
    }

    #[test]
    fn flags_are_not_part_of_the_type() {
        let bytes = [8, 0, 7, 0x80, 42, 0, 0, 0, 5, 0, 2, 0, 9, 0, 0, 0];
        let attributes = Attributes::of(&bytes);
        assert_eq!(
            (attributes.number(7), attributes.number(2), attributes.number(3)),
            (Some(42), Some(9), None)
        );
    }
}
