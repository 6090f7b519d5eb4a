//! A search as conditions of ClickHouse's SQL. They find what [`Query::finds`] finds; a test against the engine compares both.

use tardy_archive::{ConfigOption, Query};

/// The conditions of `query` on the table `runs` of `database`, joined by AND.
pub(crate) fn sql(query: &Query, database: &str) -> String {
    let mut conditions = vec!["1".to_owned()];
    let mut add = |condition: String| conditions.push(condition);
    if let Some(machine) = &query.exact_machine {
        add(format!("machine = {}", quoted(machine)));
    }
    if let Some(release) = &query.release {
        add(format!("release = {}", quoted(release)));
    }
    if let Some(part) = &query.machine {
        add(contains("machine", part));
    }
    if let Some(range) = &query.kernel {
        let [from, to] = range.ordinals();
        add(format!("kernel BETWEEN {from} AND {to}"));
    }
    if let Some(model) = &query.preemption {
        add(format!("preemption = {}", quoted(model.name())));
    }
    if let Some(load) = &query.load {
        let [load, with_argument] = [quoted(load), quoted(&format!("{load}:"))];
        add(format!("arrayExists(l -> l = {load} OR startsWith(l, {with_argument}), loads)"));
    }
    if let Some(first) = &query.since {
        add(format!("day >= {}", quoted(first.as_str())));
    }
    if let Some(last) = &query.until {
        add(format!("day != '' AND day <= {}", quoted(last.as_str())));
    }
    if let Some(judgement) = &query.judgement {
        add(format!("judgement = {}", quoted(judgement.name())));
    }
    if let Some(limit) = query.limit_ns {
        add(format!("limit_ns = {}", limit.cast_signed()));
    }
    if let Some(part) = &query.cause {
        add(format!("arrayExists(c -> {}, causes)", contains("c", part)));
    }
    for option in &query.config {
        let name = quoted(option.name());
        add(match option.value() {
            ConfigOption::UNSET => format!(
                "config IS NOT NULL AND assumeNotNull(config) NOT IN (SELECT config FROM {database}.options WHERE name = {name})"
            ),
            value => format!(
                "assumeNotNull(config) IN (SELECT config FROM {database}.options WHERE name = {name} AND value = {})",
                quoted(value)
            ),
        });
    }
    conditions.iter().map(|condition| format!("({condition})")).collect::<Vec<_>>().join(" AND ")
}

/// Whether a text contains another, in any case of ASCII letters.
fn contains(column: &str, part: &str) -> String {
    format!("position(lower({column}), {}) > 0", quoted(&part.to_ascii_lowercase()))
}

/// A text as a literal of ClickHouse's SQL.
pub(crate) fn quoted(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('\'');
    for c in text.chars() {
        if matches!(c, '\'' | '\\') {
            literal.push('\\');
        }
        literal.push(c);
    }
    literal.push('\'');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_end_its_literal() {
        assert_eq!(quoted(r"a'b\"), r"'a\'b\\'");
        let query = Query { machine: Some("x') OR (1".to_owned()), ..Query::default() };
        assert_eq!(sql(&query, "d"), r"(1) AND (position(lower(machine), 'x\') or (1') > 0)");
    }
}
