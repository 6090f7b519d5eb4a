//! The pages and files of a site.

use tardy_present::page::{Element, Link, RunPage, heading};
use tardy_present::report;

/// A page of a site.
#[derive(Clone, Debug)]
pub struct SitePage {
    /// Its file, relative to the site's directory, such as `kernels/6.12.html`.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Elements of its header, after the title.
    pub header: Vec<Element>,
    /// Its sections.
    pub sections: Vec<Vec<Element>>,
    /// How many run files it is made from.
    pub run_count: usize,
}

/// A file of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteFile {
    /// Its path, relative to the site's directory.
    pub path: String,
    /// Its content.
    pub content: String,
}

/// The file of a page. `made_by` names the program. The page has no script.
pub fn page(page: SitePage, made_by: &str) -> SiteFile {
    let SitePage { path, title, header, sections, run_count } = page;
    let mut elements = vec![heading(1, title.clone())];
    elements.extend(header);
    let has_form =
        elements.iter().chain(sections.iter().flatten()).any(|one| matches!(one, Element::Form(_)));
    let assets = if has_form { report::WITH_FORMS } else { report::WITHOUT_SCRIPT };
    let view = RunPage { id: "page".to_owned(), header: elements, sections, data: String::new() };
    SiteFile { path, content: report::html_with(assets, title, view, run_count, made_by) }
}

/// A paragraph of links.
pub fn links(links: Vec<Link>) -> Element {
    Element::Links { class: "note", links }
}

/// A name for a file or a directory: letters, digits and `.+_=-`, and a dash for every other character.
pub fn file_name(name: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '_' | '=' | '-');
    let safe: String = name.chars().map(|c| if is_safe(c) { c } else { '-' }).collect();
    safe.trim_start_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_refers_to_others_and_escapes_what_it_shows() {
        let link = |href: &str, text: &str| Link { href: href.to_owned(), text: text.to_owned() };
        let file = page(
            SitePage {
                path: "index.html".to_owned(),
                title: "a <b>".to_owned(),
                header: vec![links(vec![link("kernels/6.12.html", "6.12"), link("a.csv", "<data>")])],
                sections: Vec::new(),
                run_count: 2,
            },
            "1.0",
        );
        assert_eq!(file.path, "index.html");
        assert!(file.content.contains("<a href=\"kernels&#x2f;6.12.html\">6.12</a>"), "{}", file.content);
        assert!(file.content.contains("&lt;data&gt;") && file.content.contains("a &lt;b&gt;"));
        assert!(file.content.contains("from 2 run files"));
        assert_eq!(file.content.matches("<script>").count(), 1);
        assert!(file.content.contains("<script></script>"), "a page of a site needs no script");
    }

    #[test]
    fn file_names_have_no_directories() {
        assert_eq!(file_name("debian:6.12-rt=6.12.1-1~deb12u1"), "debian-6.12-rt=6.12.1-1-deb12u1");
        assert_eq!(file_name("../etc/passwd"), "-etc-passwd".trim_start_matches('-'));
    }
}
