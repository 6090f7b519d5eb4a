//! Parses the kernel's description of its trace: `events/header_page` and each event's `format` file.

/// The position of a field in an event or page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Offset from the beginning, in bytes.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
}

impl Field {
    /// The unsigned number in the field; `None` if it is outside `bytes` or its size is not 1, 2, 4 or 8. Byte order is this
    /// machine's, whose kernel wrote the trace.
    pub fn number(self, bytes: &[u8]) -> Option<u64> {
        let field = bytes.get(self.offset..self.offset.checked_add(self.size)?)?;
        Some(match field.len() {
            1 => u64::from(field[0]),
            2 => u64::from(u16::from_ne_bytes(field.try_into().ok()?)),
            4 => u64::from(u32::from_ne_bytes(field.try_into().ok()?)),
            8 => u64::from_ne_bytes(field.try_into().ok()?),
            _ => return None,
        })
    }

    /// The text in the field, up to its first NUL.
    pub fn text(self, bytes: &[u8]) -> Option<String> {
        let field = bytes.get(self.offset..self.offset.checked_add(self.size)?)?;
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
        Some(String::from_utf8_lossy(&field[..end]).into_owned())
    }

    /// The text that a `__data_loc` field points to: 16 bits of length above 16 bits of offset.
    pub fn located_text(self, bytes: &[u8]) -> Option<String> {
        let place = self.number(bytes)?;
        Field { offset: (place & 0xffff) as usize, size: (place >> 16) as usize }.text(bytes)
    }

    /// The signed number in the field.
    pub fn signed(self, bytes: &[u8]) -> Option<i64> {
        let number = self.number(bytes)?;
        let unused = 64 - 8 * self.size as u32;
        Some(((number << unused) as i64) >> unused)
    }
}

/// The format of one event, or of the page header, which has no id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// The event's number in `common_type`; 0 for the page header.
    pub id: u16,
    fields: Vec<(String, Field)>,
}

impl Format {
    /// Parses a `format` file; skips lines that it does not know.
    pub fn parse(text: &str) -> Self {
        let mut format = Self::default();
        for line in text.lines() {
            if let Some(id) = line.strip_prefix("ID:") {
                format.id = id.trim().parse().unwrap_or(0);
            }
            format.fields.extend(field(line));
        }
        format
    }

    /// The field called `name`.
    pub fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, field)| *field)
    }
}

/// `field:pid_t next_pid; offset:56; size:4; signed:1;`, with tabs.
fn field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';');
    let declaration = parts.next()?;
    let name = declaration.rsplit([' ', '*']).next()?;
    let name = name.split('[').next()?;
    let mut number = |key: &str| parts.next()?.trim().strip_prefix(key)?.strip_prefix(':')?.parse().ok();
    let (offset, size) = (number("offset")?, number("size")?);
    Some((name.to_owned(), Field { offset, size }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SWITCH: &str = "name: sched_switch\nID: 372\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\
        \tfield:void *hrtimer;\toffset:60;\tsize:8;\tsigned:0;\n\nprint fmt: \"field:%s\", REC->x\n";

    #[test]
    fn fields_are_found_by_name() {
        let format = Format::parse(SWITCH);
        assert_eq!(format.id, 372);
        assert_eq!(format.field("next_pid"), Some(Field { offset: 56, size: 4 }));
        assert_eq!(format.field("prev_comm"), Some(Field { offset: 8, size: 16 }));
        assert_eq!(format.field("hrtimer"), Some(Field { offset: 60, size: 8 }));
        assert_eq!(format.field("pid"), None);
    }

    #[test]
    fn a_field_outside_its_event_has_no_value() {
        let bytes = (-2i32).to_ne_bytes();
        assert_eq!(Field { offset: 0, size: 4 }.signed(&bytes), Some(-2));
        assert_eq!(Field { offset: 1, size: 4 }.number(&bytes), None);
        assert_eq!(Field { offset: usize::MAX, size: 4 }.number(&bytes), None);
        assert_eq!(Field { offset: 0, size: 3 }.number(&bytes), None);
    }

    proptest! {
        #[test]
        fn no_text_causes_a_panic(text in "(field:|offset:|size:|ID:|[a-z0-9;:\\[\\]\\* \\t\\n]){0,40}") {
            let format = Format::parse(&text);
            for (_, field) in &format.fields {
                let _ = field.signed(&[0; 64]);
            }
        }
    }
}
