//! Every link from a document to a file of this repository leads to an existing file.

use crate::{Complaint, File, Repository};

/// Looks for broken links in every Markdown file.
pub fn check(repository: &Repository) -> Vec<Complaint> {
    repository
        .files
        .iter()
        .filter(|file| file.path.ends_with(".md"))
        .flat_map(|file| broken_links(repository, file))
        .collect()
}

fn broken_links(repository: &Repository, file: &File) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (line, target) in links(&file.text) {
        let path = target.split(['#', '?']).next().unwrap_or_default();
        if path.is_empty() || is_elsewhere(target) {
            continue;
        }
        let found = resolve(&file.path, path).is_some_and(|path| repository.has(&path));
        if !found {
            complaints.push(format!(
                "{}:{line}: links to {target}, which does not exist. Correct the link, or add the file",
                file.path
            ));
        }
    }
    complaints
}

/// Whether a link has a scheme, such as https: or mailto:, and so leads out of the repository.
fn is_elsewhere(target: &str) -> bool {
    target.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

/// Every link of a document, with its line: `[text](target)` and `[label]: target`, outside code.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut links = Vec::new();
    let mut fence = None;
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark)) {
            fence = match fence {
                None => Some(mark),
                Some(open) if open == mark => None,
                Some(open) => Some(open),
            };
            continue;
        }
        if fence.is_none() {
            links.extend(links_in_line(line).into_iter().map(|target| (index + 1, target)));
        }
    }
    links
}

fn links_in_line(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let definition =
        line.strip_prefix('[').filter(|rest| !rest.starts_with('^')).and_then(|rest| rest.split_once("]: "));
    if let Some(target) = definition.and_then(|(_, target)| target.split_whitespace().next()) {
        found.push(target);
    }
    for (at, opening) in line.match_indices("](") {
        // After an odd number of backquotes it is code, not a link.
        if line[..at].matches('`').count() % 2 == 1 && line[at..].contains('`') && !label_is_code(&line[..at])
        {
            continue;
        }
        let rest = &line[at + opening.len()..];
        let target = rest
            .strip_prefix('<')
            .map_or_else(|| rest.split([')', ' ']).next(), |bracketed| bracketed.split('>').next());
        found.extend(target);
    }
    found
}

/// Whether the label that ends before `](` is code.
fn label_is_code(before: &str) -> bool {
    before.ends_with('`')
}

/// The target of a link in the file `from`, relative to the repository's root; `None` if it is outside.
fn resolve(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = match link.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => from.split('/').collect(),
    };
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<Complaint> {
        check(&Repository::of(&[(path, text), ("docs/adr/0001-map.md", ""), ("README.md", "")]))
    }

    #[test]
    fn links_to_existing_files_pass() {
        let text = "[a](adr/0001-map.md#why) [b](adr/) [c](../README.md) [d](#here) [e](https://example.org/x)\n\
                    [`f`](adr/0001-map.md) `[g](nowhere.md)` [h](mailto:a@example.org)\n\
                    [i]: adr/0001-map.md\n```\n[j](nowhere.md)\n```\n";
        assert_eq!(complaints("docs/building.md", text), Vec::<String>::new());
    }

    #[test]
    fn broken_links_are_reported() {
        let text = "[a](nowhere.md)\n\n[b]: ../nowhere.md\n[c](../../README.md) [d](<no where.md>)";
        let complaints = complaints("docs/building.md", text);
        let places: Vec<String> =
            complaints.iter().map(|text| text.split(',').next().unwrap_or_default().to_owned()).collect();
        assert_eq!(
            places,
            [
                "docs/building.md:1: links to nowhere.md",
                "docs/building.md:3: links to ../nowhere.md",
                "docs/building.md:4: links to ../../README.md",
                "docs/building.md:4: links to no where.md",
            ]
        );
    }
}
