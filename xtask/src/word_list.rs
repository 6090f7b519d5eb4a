//! The tables of `docs/style.md`: phrases and names to avoid, what to write instead, and how a text is searched for them.

use crate::{Complaint, Repository};

/// The document that holds the tables, the only copy of them.
pub(crate) const STYLE: &str = "docs/style.md";
/// The column of a name that applies to files and modules only.
const MODULES_ONLY: &str = "module";

/// The tables of `docs/style.md`.
#[derive(Debug, Default)]
pub(crate) struct WordList {
    pub(crate) phrases: Vec<PhraseRow>,
    pub(crate) names: Vec<NameRow>,
}

/// A row of the table of phrases.
#[derive(Debug)]
pub(crate) struct PhraseRow {
    pub(crate) avoid: Vec<Phrase>,
    /// What to write instead, as the table has it.
    pub(crate) write: String,
    pub(crate) accepted_in: Vec<Phrase>,
}

/// A row of the table of names.
#[derive(Debug)]
pub(crate) struct NameRow {
    /// Each as the words of a name: `in_words` is `in`, `words`.
    pub(crate) avoid: Vec<Vec<String>>,
    pub(crate) write: String,
    /// Whether types and functions may have the name.
    pub(crate) modules_only: bool,
}

/// A sequence of words, in which `…` stands for any one word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Phrase(String);

impl Phrase {
    fn new(text: &str) -> Self {
        Self(text.to_lowercase())
    }

    /// The phrase, as the table has it.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Its occurrences in `text`, which is in lower case with single spaces: the first byte, and the byte after the
    /// last.
    pub(crate) fn find_in(&self, text: &str) -> Vec<(usize, usize)> {
        let mut parts = self.0.split('…');
        let first = parts.next().unwrap_or_default();
        let rest: Vec<&str> = parts.collect();
        text.match_indices(first)
            .filter(|(at, _)| !text[..*at].chars().next_back().is_some_and(is_in_word))
            .filter_map(|(at, _)| Some((at, end_of_match(text, at + first.len(), &rest)?)))
            .filter(|(_, end)| !text[*end..].chars().next().is_some_and(is_in_word))
            .collect()
    }
}

fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

/// The byte behind a word and each of `parts` in turn, from `at` on; `None` if the text is another.
fn end_of_match(text: &str, at: usize, parts: &[&str]) -> Option<usize> {
    parts.iter().try_fold(at, |at, part| {
        let word: usize = text[at..].chars().take_while(|&c| is_in_word(c)).map(char::len_utf8).sum();
        let end = at + word;
        (word > 0 && text[end..].starts_with(part)).then_some(end + part.len())
    })
}

impl WordList {
    /// Reads the tables of `docs/style.md`.
    ///
    /// # Errors
    ///
    /// The document is missing, a table is missing or empty, or a row is not understood.
    pub(crate) fn of(repository: &Repository) -> Result<Self, Complaint> {
        let style = repository
            .files
            .iter()
            .find(|file| file.path == STYLE)
            .ok_or_else(|| format!("{STYLE}: does not exist, and holds the list of words to avoid"))?;
        let mut list = Self::default();
        for (line, cells) in rows(&style.text, "phrases")? {
            list.phrases.push(phrase_row(&cells).map_err(|error| format!("{STYLE}:{line}: {error}"))?);
        }
        for (line, cells) in rows(&style.text, "names")? {
            list.names.push(name_row(&cells).map_err(|error| format!("{STYLE}:{line}: {error}"))?);
        }
        Ok(list)
    }
}

/// The rows of the table `name`, without its head, each with its line and its cells.
fn rows<'text>(text: &'text str, name: &str) -> Result<Vec<(usize, Vec<&'text str>)>, Complaint> {
    let begin = format!("<!-- {name}:");
    let end = format!("<!-- end of {name} -->");
    let lines = text.lines().enumerate().skip_while(|(_, line)| !line.starts_with(&begin));
    let rows: Vec<(usize, Vec<&str>)> = lines
        .take_while(|(_, line)| *line != end)
        .filter(|(_, line)| line.starts_with('|'))
        .skip(2)
        .map(|(index, line)| (index + 1, line.trim_matches('|').split('|').map(str::trim).collect()))
        .collect();
    if rows.is_empty() || !text.lines().any(|line| line == end) {
        return Err(format!("{STYLE}: has no table between '{begin} … -->' and '{end}'"));
    }
    Ok(rows)
}

fn phrase_row(cells: &[&str]) -> Result<PhraseRow, String> {
    let [avoid, write, accepted_in] = cells else {
        return Err(format!("expected 3 columns, found {}", cells.len()));
    };
    let phrases = |cell: &str| -> Vec<Phrase> { quoted(cell).map(Phrase::new).collect() };
    let row =
        PhraseRow { avoid: phrases(avoid), write: (*write).to_owned(), accepted_in: phrases(accepted_in) };
    if row.avoid.is_empty() {
        return Err("expected at least one `phrase` in the first column".to_owned());
    }
    let useless = row.accepted_in.iter().find(|accepted| {
        let example = accepted.as_str().replace('…', "x");
        row.avoid.iter().all(|avoid| avoid.find_in(&example).is_empty())
    });
    match useless {
        Some(phrase) => Err(format!("'{}' contains none of the phrases to avoid", phrase.as_str())),
        None => Ok(row),
    }
}

fn name_row(cells: &[&str]) -> Result<NameRow, String> {
    let [avoid, write, place] = cells else {
        return Err(format!("expected 3 columns, found {}", cells.len()));
    };
    let modules_only = match *place {
        MODULES_ONLY => true,
        "name" => false,
        other => return Err(format!("expected 'module' or 'name' in the third column, found '{other}'")),
    };
    let avoid: Vec<Vec<String>> =
        quoted(avoid).map(|name| name.split('_').map(str::to_owned).collect()).collect();
    if avoid.is_empty() {
        return Err("expected at least one `name` in the first column".to_owned());
    }
    Ok(NameRow { avoid, write: (*write).to_owned(), modules_only })
}

/// The pieces of a cell between backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_found_as_whole_words() {
        let phrase = Phrase::new("A frob");
        assert_eq!(phrase.find_in("a frob, a frobber, a-a frob-x; la frob"), [(0, 6)]);
    }

    #[test]
    fn an_ellipsis_stands_for_one_word() {
        let phrase = Phrase::new("is … of");
        assert_eq!(phrase.find_in("it is one of"), [(3, 12)]);
        assert!(phrase.find_in("it is one or two of").is_empty());
        assert!(Phrase::new("is …").find_in("it is.").is_empty());
    }

    fn list(phrases: &str, names: &str) -> Result<WordList, Complaint> {
        let text = format!(
            "<!-- phrases: x -->\n| avoid | write | accepted in |\n|---|---|---|\n{phrases}<!-- end of phrases -->\n\
             <!-- names: x -->\n| avoid | write | where |\n|---|---|---|\n{names}<!-- end of names -->\n"
        );
        WordList::of(&Repository::of(&[(STYLE, &text)]))
    }

    #[test]
    fn both_tables_are_read() {
        let list = list("| `a b`, `c …` | d | `c e` |\n", "| `f_g` | h | name |\n").unwrap();
        assert_eq!(list.phrases[0].avoid, [Phrase::new("a b"), Phrase::new("c …")]);
        assert_eq!(list.phrases[0].accepted_in, [Phrase::new("c e")]);
        assert_eq!(list.names[0].avoid, [["f", "g"]]);
        assert!(!list.names[0].modules_only);
    }

    #[test]
    fn a_wrong_row_is_reported_with_its_line() {
        let name = "| `n` | m | name |\n";
        let error = |phrases: &str, names: &str| list(phrases, names).unwrap_err();
        assert!(error("| a | b | |\n", name).starts_with("docs/style.md:4: expected at least one"));
        assert!(error("| `a` | b | `c` |\n", name).contains("'c' contains none"));
        assert!(error("| `a` | b | |\n", "| `n` | m | file |\n").contains("found 'file'"));
        assert!(error("", name).contains("has no table"));
    }
}
