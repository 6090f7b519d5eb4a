//! Puts the documents together as the sources of a site, which mdBook builds.
//!
//! The documents link to each other and to files of the repository, so that they can be read there. In the site, a link to a
//! document becomes one to its page, and a link to any other file one to a copy of it. The contents come from docs/README.md, so
//! they are listed once.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::Repository;

/// The first page, and the page of the contents.
const FIRST: &str = "README.md";
const CONTENTS: &str = "docs/README.md";
/// Documents outside docs/ that are pages.
const OTHERS: [&str; 4] = ["ARCHITECTURE.md", "CHANGELOG.md", "SECURITY.md", "examples/README.md"];
/// The directory of copied files in the site.
const FILES: &str = "files";
/// What the site has besides documents: scripts/make-site puts it there.
const HERE: &str = "
## On this site

- [Read, compare and judge your own files](tardy.html) in the browser; nothing leaves your machine. The same page is the
  [bench for time-aware switches](tardy.html#bench).
- [The report of two kernels in the lab](example-two-kernels.html), and [of the causes of late wake-ups](example-causes.html).
";

/// Writes the sources of the site into the directory `to`, and returns the number of pages.
///
/// # Errors
/// If a link leads to a file that does not exist, or a file cannot be written.
pub fn write(repository: &Repository, to: &Path) -> Result<usize, String> {
    let site = Site::of(repository);
    let (pages, copied) = site.pages()?;
    for (path, text) in &pages {
        put(&to.join("src").join(path), text.as_bytes())?;
    }
    for path in copied {
        let content = fs::read(repository.root.join(&path)).map_err(|error| format!("{path}: {error}"))?;
        put(&to.join("src").join(FILES).join(&path), &content)?;
    }
    put(&to.join("book.toml"), SETTINGS.as_bytes())?;
    Ok(pages.len())
}

const SETTINGS: &str = "\
[book]
title = \"tardy: how late is your Linux?\"
language = \"en-GB\"

[output.html]
no-section-label = true
preferred-dark-theme = \"navy\"
";

fn put(path: &Path, content: &[u8]) -> Result<(), String> {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, content));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

/// The documents by their paths in the repository, with their paths in the site.
struct Site<'r> {
    repository: &'r Repository,
    places: BTreeMap<&'r str, String>,
}

impl<'r> Site<'r> {
    fn of(repository: &'r Repository) -> Self {
        let paths = repository.files.iter().map(|file| file.path.as_str());
        let places = paths.filter_map(|path| Some((path, place(path)?))).collect();
        Self { repository, places }
    }

    /// Every page with its path, and the files that they link to.
    fn pages(&self) -> Result<(BTreeMap<String, String>, Vec<String>), String> {
        let (mut pages, mut copied) = (BTreeMap::new(), Vec::new());
        for file in &self.repository.files {
            let Some(place) = self.places.get(file.path.as_str()) else { continue };
            let mut text = self.with_links(&file.path, &file.text, &mut copied)?;
            if file.path == FIRST {
                text += HERE;
            }
            pages.insert(place.clone(), text);
        }
        pages.insert("SUMMARY.md".to_owned(), self.summary());
        copied.sort();
        copied.dedup();
        Ok((pages, copied))
    }

    /// `text` of the document `path` with links that lead to pages and copies.
    fn with_links(&self, path: &str, text: &str, copied: &mut Vec<String>) -> Result<String, String> {
        let mut is_code = false;
        let mut changed = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            is_code ^= line.trim_start().starts_with("```");
            match is_code {
                true => changed += line,
                false => changed += &self.line_with_links(path, line, copied)?,
            }
        }
        Ok(changed)
    }

    fn line_with_links(&self, path: &str, line: &str, copied: &mut Vec<String>) -> Result<String, String> {
        let mut parts = line.split("](");
        let mut changed = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (target, rest) = part.split_once(')').unwrap_or((part, ""));
            changed += "](";
            changed += &self.target(path, target, copied)?;
            changed += ")";
            changed += rest;
        }
        Ok(changed)
    }

    /// Where `target`, a link in the document `path`, leads in the site.
    fn target(&self, path: &str, target: &str, copied: &mut Vec<String>) -> Result<String, String> {
        if target.starts_with('#') || target.contains("://") {
            return Ok(target.to_owned());
        }
        let (file, anchor) = target.split_at(target.find('#').unwrap_or(target.len()));
        let resolved = resolved(path, file);
        let place = match self.places.get(resolved.as_str()) {
            Some(place) => place.clone(),
            None if self.repository.files.iter().any(|one| one.path == resolved) => {
                copied.push(resolved.clone());
                format!("{FILES}/{resolved}")
            }
            // A directory: its documents are in the contents.
            None if self.repository.files.iter().any(|one| one.path.starts_with(&resolved)) => {
                place(CONTENTS).unwrap_or_default()
            }
            None => return Err(format!("{path}: the link to {target} leads nowhere")),
        };
        let own = self.places.get(path).map_or("", String::as_str);
        Ok("../".repeat(own.matches('/').count()) + &place + anchor)
    }

    /// The contents for mdBook: the sections and links of docs/README.md, and what it does not name.
    fn summary(&self) -> String {
        let contents = self.repository.files.iter().find(|file| file.path == CONTENTS);
        let mut summary = format!("# Summary\n\n[tardy]({FIRST})\n[Documents](documents.md)\n");
        let mut named = vec![FIRST.to_owned(), "documents.md".to_owned()];
        for line in contents.map_or("", |file| file.text.as_str()).lines() {
            if let Some(title) = line.strip_prefix("## ") {
                summary += &format!("\n# {}\n\n", title.trim_end_matches(" …"));
            }
            for part in line.split("](").skip(1) {
                let file = part.split([')', '#']).next().unwrap_or_default();
                if let Some(place) = self.places.get(resolved(CONTENTS, file).as_str())
                    && !named.contains(place)
                {
                    summary += &format!("- [{}]({place})\n", self.title(&resolved(CONTENTS, file)));
                    named.push(place.clone());
                }
            }
        }
        summary += "\n# Decisions and others\n\n";
        for (path, place) in self.places.iter().filter(|(_, place)| !named.contains(place)) {
            summary += &format!("- [{}]({place})\n", self.title(path));
        }
        summary
    }

    /// The first heading of the document `path`.
    fn title(&self, path: &str) -> String {
        let file = self.repository.files.iter().find(|file| file.path == path);
        let heading = file.and_then(|file| file.text.lines().find_map(|line| line.strip_prefix("# ")));
        heading.unwrap_or(path).replace(['[', ']'], "")
    }
}

/// The path of the document `path` in the site; `None` if it is not a page.
fn place(path: &str) -> Option<String> {
    match path {
        FIRST => Some(FIRST.to_owned()),
        CONTENTS => Some("documents.md".to_owned()),
        "examples/README.md" => Some("examples.md".to_owned()),
        _ if OTHERS.contains(&path) => Some(path.to_owned()),
        _ => path.strip_prefix("docs/").filter(|rest| rest.ends_with(".md")).map(str::to_owned),
    }
}

/// The path in the repository that `target` means in the document `path`.
fn resolved(path: &str, target: &str) -> String {
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::File;

    fn repository(files: &[(&str, &str)]) -> Repository {
        let file = |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: (*text).to_owned() };
        Repository { root: PathBuf::new(), files: files.iter().map(file).collect() }
    }

    #[test]
    fn links_lead_to_pages_and_to_copies() {
        let repository = repository(&[
            ("README.md", "# tardy\n[a](docs/a.md#b) ![p](docs/p.png) [x](https://x.org)\n"),
            ("docs/README.md", "# Documents\n\n## I want to …\n\n| a | [A](a.md) |\n"),
            (
                "docs/a.md",
                "# The A\n[code](../src/x.rs), [one](adr/0001.md), [all](adr/), [here](#b)\n```sh\n[no](nowhere.md)\n```\n",
            ),
            ("docs/adr/0001.md", "# 1. One\n[back](../a.md)\n"),
            ("docs/p.png", ""),
            ("src/x.rs", ""),
        ]);
        let (pages, copied) = Site::of(&repository).pages().unwrap();
        assert!(
            pages["README.md"]
                .starts_with("# tardy\n[a](a.md#b) ![p](files/docs/p.png) [x](https://x.org)\n")
        );
        assert_eq!(
            pages["a.md"],
            "# The A\n[code](files/src/x.rs), [one](adr/0001.md), [all](documents.md), [here](#b)\n```sh\n[no](nowhere.md)\n```\n"
        );
        assert_eq!(pages["adr/0001.md"], "# 1. One\n[back](../a.md)\n");
        assert_eq!(copied, ["docs/p.png", "src/x.rs"]);
        assert_eq!(
            pages["SUMMARY.md"],
            "# Summary\n\n[tardy](README.md)\n[Documents](documents.md)\n\n# I want to\n\n- [The A](a.md)\n\n# Decisions and others\n\n\
             - [1. One](adr/0001.md)\n"
        );
    }

    #[test]
    fn a_link_that_leads_nowhere_is_an_error() {
        let repository = repository(&[("docs/a.md", "[b](b.md)")]);
        let error = Site::of(&repository).pages().unwrap_err();
        assert_eq!(error, "docs/a.md: the link to b.md leads nowhere");
    }

    #[test]
    fn every_link_of_the_documents_leads_somewhere() {
        let repository = Repository::here().unwrap();
        let (pages, copied) = Site::of(&repository).pages().unwrap();
        assert!(pages.len() > 40 && !copied.is_empty());
    }
}
