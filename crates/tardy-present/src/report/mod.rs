//! The report: one HTML file with everything in it, for people to look at.
//!
//! No network, no fonts from elsewhere, no script that anything depends on. The page allows itself exactly the style
//! and the script that it brings (a content security policy with their hashes), so that even a name that slipped
//! through the escaping could run nothing.

mod comparison_view;
mod contents_view;
mod page_view;
mod plots;
mod published_view;
mod run_tables;
mod run_view;

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value};
use tardy_analyse::findings;
use tardy_record::Run;

/// The page's style sheet: the plots' and its own.
pub const STYLE: &str = concat!(include_str!("../plot/plot.css"), include_str!("../../templates/report.css"));
/// The page's script: what is under the pointer, and everything unfolded on paper.
pub const SCRIPT: &str = include_str!("../../templates/report.js");
/// SHA-256 of [`STYLE`] in base64, for the content security policy. A test tells what it should be.
pub const STYLE_HASH: &str = include_str!("../../templates/report.css.sha256");
/// The same of [`SCRIPT`].
pub const SCRIPT_HASH: &str = include_str!("../../templates/report.js.sha256");

const TEMPLATES: [(&str, &str); 7] = [
    ("report.html", include_str!("../../templates/report.html")),
    ("contents.html", include_str!("../../templates/contents.html")),
    ("published.html", include_str!("../../templates/published.html")),
    ("run.html", include_str!("../../templates/run.html")),
    ("details.html", include_str!("../../templates/details.html")),
    ("comparison.html", include_str!("../../templates/comparison.html")),
    ("macros.html", include_str!("../../templates/macros.html")),
];

/// The runs of one experiment, in a report of several.
#[derive(Clone, Debug)]
pub struct Chapter<'a> {
    /// What it is called.
    pub title: String,
    /// What it is about, in one sentence.
    pub about: String,
    /// Its runs, the first the base of the comparison.
    pub runs: Vec<&'a Run>,
}

/// The report of one run, or of several with the first as the base of the comparison.
///
/// # Panics
/// Never for a `Run` that passed [`tardy_record::file::check`]: the templates are tested with all their parts.
pub fn html(runs: &[&Run], options: &findings::Options<'_>) -> String {
    rendered(page_view::of(runs, options))
}

/// The report of several experiments: what they are and came to at the top, then a chapter each as [`html`] has it.
///
/// # Panics
/// As [`html`].
pub fn html_of_chapters(chapters: &[Chapter<'_>], options: &findings::Options<'_>) -> String {
    rendered(page_view::of_chapters(chapters, options))
}

fn rendered(page: page_view::PageView) -> String {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    for (name, source) in TEMPLATES {
        environment.add_template(name, source).expect("the templates are part of the program");
    }
    let template = environment.get_template("report.html").expect("it was just added");
    template.render(Value::from(Serde(page))).expect("the page has everything that the templates ask for")
}
