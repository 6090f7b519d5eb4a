use proptest::prelude::*;

use super::*;

fn of(text: &str) -> Result<Object> {
    parse(&mut text.as_bytes())
}

fn error(text: &str) -> String {
    of(text).unwrap_err().to_string()
}

#[test]
fn members_have_their_values_and_paths() {
    let mut root = of(
        "{\"a\": -5, \"b\": 1.5e3, \"c\": \"x\\n\\u00e9\\ud83d\\ude00\\/\", \"d\": null, \"e\": -nan, \"i\": NaN, \"f\": {\"g\": [1, {}], \"h\": 7}}",
    )
    .unwrap();
    assert_eq!(root.whole("a").unwrap(), Some(-5));
    assert_eq!((root.number("b").unwrap(), root.number("e").unwrap()), (Some(1500.0), None));
    assert_eq!(root.number("i").unwrap(), None);
    assert_eq!(root.text("c"), Some("x\né😀/"));
    assert_eq!(root.count("a").unwrap_err().to_string(), "a: -5 is not a count");
    assert_eq!(root.count("d").unwrap_err().to_string(), "d: null is not a count");
    assert_eq!(root.whole("b").unwrap_err().to_string(), "b: 1500.0 is not a whole number of 63 bits");
    let inner = root.object("f").unwrap().unwrap();
    assert_eq!((inner.count("h").unwrap(), inner.path_of("h")), (Some(7), "f.h".to_owned()));
    assert_eq!(inner.count("g").unwrap_err().to_string(), "f.g: an array is not a count");
    assert!(root.object("a").is_err() && root.object("none").unwrap().is_none());
}

#[test]
fn errors_have_a_line_and_a_column() {
    for (text, expected) in [
        ("{\"a\": 1,\n \"b\": x}", "line 2, column 7: not JSON: 'x' is not a value"),
        ("{\"a\": 1,\n \"a\": 2}", "line 2, column 5: the key 'a' appears twice in one object"),
        ("{\"7\": 1,\n \"7\": 2}", "line 2, column 8: the key '7' appears twice in one object"),
        ("{\"a\" 1}", "line 1, column 6: not JSON: expected a colon, found '1'"),
        (
            "{\"a\": 1 \"b\"",
            "line 1, column 9: not JSON: expected a comma or the end of the object, found '\\\"'",
        ),
        ("{\"a\": 1,}", "line 1, column 9: not JSON: expected a key, found '}'"),
        ("{\"a\": 01}", "not JSON: '01' is not a value"),
        ("{\"7\": 01}", "not JSON: '01' is not a value"),
        ("{\"a\": \"x\ny\"}", "line 1, column 9: not JSON: a text contains a control character"),
        ("{\"a\": \"\\ud800\"}", "not JSON: an escape sequence is not a character"),
        ("{} {}", "line 1, column 4: not JSON: there is text after the end of the document"),
        ("{\"a\":\n", "line 2, column 1: the document is incomplete"),
        ("{\"a\": tru", "line 1, column 7: the document is incomplete"),
        ("{\"a\": \"tru", "line 1, column 11: the document is incomplete"),
        ("[1, 2]", "the document: is not a JSON object"),
    ] {
        let error = error(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn sizes_are_bounded() {
    let long = error(&format!("{{\"a\": \"{}\"}}", "x".repeat(5 << 20)));
    assert!(long.contains("line 1, column") && long.contains("longer than 4 MiB"), "{long}");
    let giant_key = error(&format!("{{\"{}\": 1, \"b\": x}}", "k".repeat(300_000)));
    assert!(giant_key.len() < 200, "{} characters", giant_key.len());
    let members: String = (0..300_000).map(|at| format!("\"k{at}\": 1, ")).collect();
    let many = error(&format!("{{{members}\"b\": 1}}"));
    assert!(many.contains("needs more than 32 MiB"), "{many}");
    // The elements of arrays are not kept.
    let elements = "{\"k\": 1}, ".repeat(300_000);
    of(&format!("{{\"a\": [{elements} 1]}}")).unwrap();

    let mut text = "{\"h\": {\"1\": 1, \"2\": 0, \"3\": 1, \"4\": 1}}".as_bytes();
    let mut scanner = Scanner::new(&mut text);
    let mut parser = Parser { rows_max: 2, ..Parser::of(&mut scanner) };
    let error = parser.document().unwrap_err().to_string();
    assert!(error.contains("more than 2 rows"), "{error}");
}

#[test]
fn a_histogram_reports_the_first_member_that_is_not_a_row() {
    let rows = |text: &str| of(text).unwrap().object("h").unwrap().unwrap().into_rows();
    for (text, expected) in [
        ("{\"h\": {\"7\": 1, \"8\": -1}}", "h.8: -1 is not a count"),
        ("{\"h\": {\"7\": 1, \"8\": 1.5}}", "h.8: 1.5 is not a count"),
        ("{\"h\": {\"7\": 1, \"-8\": 1}}", "h.-8: '-8' is not the value of a row"),
    ] {
        assert_eq!(rows(text).unwrap_err().to_string().split(';').next(), Some(expected), "{text}");
    }
    let rows = rows("{\"h\": {\"9\" : 1, \"7\":\n2, \"8\": 0}}").unwrap();
    assert_eq!(rows.into_bins(|at, count| (at, count)), [(7000, 2), (9000, 1)]);
}

#[test]
fn a_text_that_is_not_escaped_is_read_to_the_end_of_its_line() {
    let read = |text: &str| parse_unescaped(&mut text.as_bytes(), "c");
    let repaired = |value: &str| {
        let (root, is_repaired) = read(&format!("{{\n\"c\": \"{value}\",\n\"d\": 1}}")).unwrap();
        assert_eq!(root.count("d").unwrap(), Some(1));
        (root.text("c").unwrap().to_owned(), is_repaired)
    };
    for value in ["a \"b\"", "a \"b\", c", "C:\\x", "a \"}\"", "\""] {
        assert_eq!(repaired(value), (value.to_owned(), true));
    }
    assert_eq!(repaired("a \\\"b\\\""), ("a \"b\"".to_owned(), false));
    // Several members in one line are valid.
    let (root, is_repaired) = read("{\"c\": \"x\", \"e\": \"y\",\n \"d\": 1}").unwrap();
    assert_eq!((root.text("c"), is_repaired), (Some("x"), false));
    // If the rest is not JSON either, the first error is reported.
    let error = read("{\"c\": \"a \"b\"\",\n \"d\": x}").unwrap_err().to_string();
    assert!(error.contains("line 1, column 11: not JSON"), "{error}");
    let error = read("{\"d\": {\"c\": \"a \"b\"\",\n \"d\": 1}}").unwrap_err().to_string();
    assert!(error.contains("line 1, column 17: not JSON"), "{error}");
}

/// A reader that returns a few bytes at a time.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let room = buffer.len().min(3);
        self.0.read(&mut buffer[..room])
    }
}

fn same(ours: &Value, theirs: &serde_json::Value) -> bool {
    match (ours, theirs) {
        (Value::Object(members), serde_json::Value::Object(map)) => map.iter().all(|(key, value)| {
            members.named.get(key).is_none_or(|ours| same(ours, value))
                && (members.named.contains_key(key) || value.is_u64())
        }),
        (Value::Array, serde_json::Value::Array(_)) | (Value::Null, serde_json::Value::Null) => true,
        (Value::Text(ours), serde_json::Value::String(theirs)) => ours == theirs,
        (Value::Bool(ours), serde_json::Value::Bool(theirs)) => ours == theirs,
        (Value::Count(ours), theirs) => theirs.as_u64() == Some(*ours),
        (Value::Negative(ours), theirs) => theirs.as_f64() == Some(*ours as f64),
        // serde_json rounds the last digit of long numbers differently.
        (Value::Real(ours), theirs) => {
            theirs.as_f64().is_some_and(|theirs| (theirs - ours).abs() <= ours.abs() * 1e-15)
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// The text is cut, and one of its characters replaced, so that about half of the texts are not JSON.
    #[test]
    fn the_same_texts_are_accepted_as_by_serde_json(
        parts in prop::collection::vec(prop::sample::select(vec![
            "\"a\": 1", "\"b\": {\"7\": 8, \"9\":0,\"11\": 3 }", "\"c\": [1, -2.5e-3, {\"x\": [] }]", "\"d\": \"\\u00e9\\\\ \\t\"",
            "\"e\": {}", "\"f\" : true", "\"g\":null", "\"h\": \"é😀\"", "\"i\": -0", "\"j\": {\"0.500\": 1, \"1.000\": 2}",
            "\"k\": 123456789012345678901", "\"l\": {\"x\": {\"y\": \"z\"}}", "\"m\": \"\\ud83d\\ude00\"",
        ]), 0..8),
        separator in prop::sample::select(vec![",", ", ", ",\n  ", " ,\r\n"]),
        damage in prop::option::of((0.0..1.0f64, "[\\PC\\n0-9a-z{}\\[\\]:,.\"\\\\-]")),
        end in prop::option::weighted(0.2, 0.0..1.0f64),
    ) {
        let mut text: Vec<char> = format!("{{ {} }}\n", parts.join(separator)).chars().collect();
        if let Some((at, with)) = damage {
            let at = (at * text.len() as f64) as usize;
            text[at] = with.chars().next().unwrap();
        }
        let length = end.map_or(text.len(), |end| (end * text.len() as f64) as usize);
        let text: String = text[..length].iter().collect();
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        let ours = Parser::of(&mut Scanner::new(&mut Slow(text.as_bytes()))).value(0);
        match parse(&mut Slow(text.as_bytes())) {
            Ok(_) => {
                let theirs = theirs.unwrap_or_else(|error| panic!("{text}: {error}"));
                prop_assert!(same(&ours.unwrap(), &theirs), "{}", text);
            }
            Err(error) => {
                let error = error.to_string();
                let is_ours = error.contains("appears twice") || error.contains("is not a JSON object");
                prop_assert!(theirs.is_err() || is_ours, "{}: {}", text, error);
            }
        }
    }
}
