//! The report: a single HTML file.
//!
//! It needs no network and no external fonts, and is readable without JavaScript. Its content security policy allows
//! only the style and the script in the page, by their hashes, so a name that was not escaped could not run a script.

mod comparison_view;
mod contents_view;
mod first_screen;
mod page_view;
mod run_page;
mod script_data;
mod tables;

use std::sync::LazyLock;

use minijinja::value::{Serde, ValueKind};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value};
use serde::Serialize;
use tardy_analyse::findings;
use tardy_record::Run;

pub use first_screen::first_screen;
pub use tables::{ReportTable, tables};

use crate::page::RunPage;
use crate::section::Section;
use crate::sections;

/// The page's style sheet: that of the plots, and that of the report.
pub const STYLE: &str =
    concat!(include_str!("../../../tardy-plot/src/plot.css"), include_str!("../../templates/report.css"));
/// The page's script: shows the values under the pointer, lets the reader choose what is drawn, and expands collapsed parts
/// for printing.
pub const SCRIPT: &str = include_str!("../../templates/report.js");
/// SHA-256 of [`STYLE`] in base64, for the content security policy; `tests/content_security.rs` checks it.
pub const STYLE_HASH: &str = include_str!("../../templates/report.css.sha256");
/// SHA-256 of [`SCRIPT`] in base64.
pub const SCRIPT_HASH: &str = include_str!("../../templates/report.js.sha256");

/// The style sheet and the script of a page, with their hashes for the content security policy.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Assets {
    /// The style sheet.
    pub style: &'static str,
    /// Its SHA-256 in base64.
    pub style_hash: &'static str,
    /// The script.
    pub script: &'static str,
    /// Its SHA-256 in base64.
    pub script_hash: &'static str,
    /// Where forms may be sent, as in the content security policy.
    pub form_action: &'static str,
}

/// Those of reports.
pub const REPORT: Assets = Assets {
    style: STYLE,
    style_hash: STYLE_HASH.trim_ascii_end(),
    script: SCRIPT,
    script_hash: SCRIPT_HASH.trim_ascii_end(),
    form_action: NO_FORMS,
};
const NO_FORMS: &str = "'none'";

/// Those of pages without plots that answer, such as those of a site.
pub const WITHOUT_SCRIPT: Assets =
    Assets { script: "", script_hash: "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", ..REPORT };

/// Those of pages with forms, which a server sends.
pub const WITH_FORMS: Assets = Assets {
    style: concat!(
        include_str!("../../../tardy-plot/src/plot.css"),
        include_str!("../../templates/report.css"),
        include_str!("../../templates/form.css")
    ),
    style_hash: include_str!("../../templates/form.css.sha256").trim_ascii_end(),
    form_action: "'self'",
    ..WITHOUT_SCRIPT
};

/// Those of explained wake-ups, which need nothing of a report's script.
pub const EXPLANATION: Assets = Assets {
    style: concat!(
        include_str!("../../../tardy-plot/src/plot.css"),
        include_str!("../../templates/report.css"),
        include_str!("../../templates/explanation.css")
    ),
    style_hash: include_str!("../../templates/explanation.css.sha256").trim_ascii_end(),
    script: include_str!("../../templates/explanation.js"),
    script_hash: include_str!("../../templates/explanation.js.sha256").trim_ascii_end(),
    form_action: NO_FORMS,
};

const TEMPLATES: [(&str, &str); 5] = [
    ("report.html", include_str!("../../templates/report.html")),
    ("contents.html", include_str!("../../templates/contents.html")),
    ("run.html", include_str!("../../templates/run.html")),
    ("comparison.html", include_str!("../../templates/comparison.html")),
    ("element.html", include_str!("../../templates/element.html")),
];

/// The runs of one experiment, in a report of several.
#[derive(Clone, Debug)]
pub struct Chapter<'a> {
    /// Its title.
    pub title: String,
    /// Its subject, in one sentence.
    pub about: String,
    /// Its runs; the first is the base of the comparison.
    pub runs: Vec<&'a Run>,
}

/// The report of one run, or of several with the first as the base of the comparison.
///
/// # Panics
/// If a run did not pass [`tardy_record::file::check`].
pub fn html(runs: &[&Run], options: &findings::Options<'_>) -> String {
    html_of(sections::ALL, runs, options)
}

/// The same as [`html`], with the given sections.
///
/// # Panics
/// As [`html`].
pub fn html_of(sections: &[&dyn Section], runs: &[&Run], options: &findings::Options<'_>) -> String {
    rendered(page_view::of(sections, runs, options))
}

/// The report of several experiments: contents and results at the top, then a chapter for each, like [`html`].
///
/// # Panics
/// As [`html`].
pub fn html_of_chapters(chapters: &[Chapter<'_>], options: &findings::Options<'_>) -> String {
    rendered(page_view::of_chapters(sections::ALL, chapters, options))
}

/// A page with the frame of a report and the elements of `page`, made from `run_count` run files.
pub(crate) fn html_of_page(title: String, page: RunPage, run_count: usize, made_by: &str) -> String {
    html_with(REPORT, title, page, run_count, made_by)
}

/// The same with another style sheet and script.
pub fn html_with(assets: Assets, title: String, page: RunPage, run_count: usize, made_by: &str) -> String {
    rendered(page_view::of_page(assets, title, page, run_count, made_by))
}

fn rendered(page: page_view::PageView) -> String {
    let template = PAGES.get_template("report.html").expect("it is one of the templates");
    template.render(Value::from(Serde(page))).expect("the page has everything that the templates ask for")
}

/// The templates, which a server would otherwise read anew for each page.
static PAGES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    // All that the templates use of minijinja's own filters and tests, of which the page in the browser would have every one.
    environment.add_filter("length", |value: Value| value.len());
    environment.add_test("string", |value: Value| value.kind() == ValueKind::String);
    environment.add_test("link", |value: Value| value.kind() == ValueKind::Map);
    for (name, source) in TEMPLATES {
        environment.add_template(name, source).expect("the templates are part of the program");
    }
    environment
});
