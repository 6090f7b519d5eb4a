//! The text of a mark, which a program writes to trace_marker.
//!
//! It is that of Android's atrace, which trace viewers know: `B|PID|NAME` begins a stretch, `E|PID|NAME` ends it, and
//! `E|PID` ends the one that the thread began last. The process is that of the writing thread, because the number in the text may be
//! one of another namespace.

/// The longest name, in bytes.
const NAME_MAX: usize = 64;

/// The end of a stretch, and its name, in the text of a mark; `None` if the text is not a mark.
pub fn parse(text: &str) -> Option<(bool, Option<&str>)> {
    let text = text.trim_end_matches(['\n', '\0']);
    let (kind, rest) = text.split_once('|').unwrap_or((text, ""));
    let (pid, name) = rest.split_once('|').unwrap_or((rest, ""));
    let is_begin = match kind {
        "B" => true,
        "E" => false,
        _ => return None,
    };
    let is_number = pid.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = name.len() <= NAME_MAX && !name.contains(|c: char| c.is_control());
    let name = Some(name).filter(|name| !name.is_empty());
    (is_number && is_name && (name.is_some() || !is_begin)).then_some((is_begin, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_atrace() {
        assert_eq!(parse("B|12|control\n"), Some((true, Some("control"))));
        assert_eq!(parse("E|12|control"), Some((false, Some("control"))));
        assert_eq!(parse("E|12\n"), Some((false, None)));
        assert_eq!(parse("E"), Some((false, None)));
        assert_eq!(parse("B||a b"), Some((true, Some("a b"))));
        for wrong in ["", "B", "B|1", "B|1|", "B|x|control", "C|1|n|5", "hello | B|1|x", "B|1|a\tb"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        assert_eq!(parse(&format!("B|1|{}", "x".repeat(NAME_MAX + 1))), None);
    }
}
