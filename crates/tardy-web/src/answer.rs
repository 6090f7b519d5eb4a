//! The page's requests and their answers: JSON, and content that is not JSON behind it.

use std::io::Read;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tardy_analyse::findings;
use tardy_analyse::published::{built_in, built_in_named, match_of};
use tardy_compare::versus;
use tardy_formats::{EXPORTS, ExportContent, ExportOptions, FORMATS, Unit, export, what_is_lost};
use tardy_gate::forms::{self, FORMS, Judged};
use tardy_gate::{Outcome, Requirement};
use tardy_plot::Options as PlotOptions;
use tardy_plot::numbers::harmless;
use tardy_present::plot_file::{Kind, Plot};
use tardy_present::{markdown, published, report};
use tardy_record::units::parse_duration_ns;
use tardy_record::{Run, file};
use tardy_share::shared;

use crate::bench;
use crate::import_options::Options;
use crate::reply::Answer;
use crate::session::{Session, Source};

/// The kinds of plots, in the page's order.
const KINDS: [Kind; 9] = [
    Kind::Histogram,
    Kind::Exceedance,
    Kind::Timeline,
    Kind::Heatmap,
    Kind::Distribution,
    Kind::Quantiles,
    Kind::ReturnLevels,
    Kind::Compare,
    Kind::Shift,
];
/// The width of texts for the page, in characters.
const TEXT_WIDTH: usize = 100;

/// A request of the page.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
enum Request {
    /// What the module knows.
    About,
    /// Reads the file behind the source.
    Add {
        name: String,
        #[serde(default)]
        options: Options,
    },
    Close {
        run: usize,
    },
    Open {
        link: String,
    },
    Report {
        runs: Vec<usize>,
        #[serde(default)]
        published: Vec<String>,
    },
    Tables {
        runs: Vec<usize>,
    },
    Published {
        runs: Vec<usize>,
        published: Vec<String>,
    },
    Gate {
        runs: Vec<usize>,
        require: String,
        form: String,
    },
    Figure {
        runs: Vec<usize>,
        kind: String,
        data: bool,
    },
    Export {
        run: usize,
        to: String,
        unit: String,
        limit: String,
        outlier: usize,
    },
    RunFile {
        run: usize,
    },
    Share {
        runs: Vec<usize>,
        keep: Vec<String>,
        base: String,
    },
    Check {
        text: String,
        name: String,
    },
    Simulate {
        text: String,
        name: String,
        talk: String,
    },
    Synthesize {
        text: String,
    },
    Plan {
        text: String,
        switch: String,
    },
    ShareSwitch {
        text: String,
        base: String,
    },
    OpenSwitch {
        link: String,
    },
    Example {
        name: String,
    },
}

/// The answer to a request about the runs of `session`. `source` is the file that a request to add one reads.
///
/// # Errors
/// What is wrong and what to do, as the command line would say it.
pub fn answer(session: &mut Session, request: &str, source: &dyn Source) -> Result<Answer, String> {
    let request: Request =
        serde_json::from_str(request).map_err(|error| format!("the page's request is wrong: {error}"))?;
    match request {
        Request::About => Ok(about().into()),
        Request::Add { name, options } => Ok(json!(session.add(&name, source, &options)).into()),
        Request::Close { run } => {
            session.close(run);
            Ok(Answer::default())
        }
        Request::Open { link } => Ok(json!(session.open_link(&link)?).into()),
        Request::Report { runs, published } => html(session, &runs, &published),
        Request::Tables { runs } => tables(session, &runs),
        Request::Published { runs, published } => with_published(session, &runs, &published),
        Request::Gate { runs, require, form } => judged(session, &runs, &require, &form),
        Request::Figure { runs, kind, data } => figure(session, &runs, &kind, data),
        Request::Export { run, to, unit, limit, outlier } => {
            exported(session.run(run)?, &to, &unit, &limit, outlier)
        }
        Request::RunFile { run } => {
            let content = file::to_text(session.run(run)?).into_bytes();
            Ok(Answer { content, ..Answer::default() })
        }
        Request::Share { runs, keep, base } => share(session, &runs, &keep, &base),
        Request::Check { text, name } => Ok(bench::check(&text, &name).into()),
        Request::Simulate { text, name, talk } => bench::simulate(session, &text, &name, &talk),
        Request::Synthesize { text } => bench::synthesize(&text).map(Answer::from),
        Request::Plan { text, switch } => bench::plan(&text, &switch).map(Answer::from),
        Request::ShareSwitch { text, base } => bench::share(&text, &base).map(Answer::from),
        Request::OpenSwitch { link } => bench::open(&link).map(Answer::from),
        Request::Example { name } => bench::example(&name).map(Answer::from),
    }
}

#[derive(Serialize)]
struct Named {
    name: &'static str,
    about: &'static str,
}

fn about() -> Value {
    let formats = FORMATS.iter().map(|one| Named { name: one.name, about: one.about });
    let exports = EXPORTS.iter().map(|one| Named { name: one.name, about: one.about });
    let forms = FORMS.iter().map(|one| Named { name: one.name, about: one.about });
    let published =
        built_in().iter().map(|one| json!({ "id": one.id, "source": one.source, "board": one.board }));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "formats": formats.collect::<Vec<_>>(),
        "exports": exports.collect::<Vec<_>>(),
        "forms": forms.collect::<Vec<_>>(),
        "kinds": KINDS.map(Kind::name),
        "published": published.collect::<Vec<_>>(),
        "switches": bench::examples(),
    })
}

fn chosen<'s>(session: &'s Session, numbers: &[usize]) -> Result<Vec<&'s Run>, String> {
    let runs = numbers.iter().map(|number| session.run(*number)).collect::<Result<Vec<_>, _>>()?;
    if runs.is_empty() { Err("no run is chosen; tick one".to_owned()) } else { Ok(runs) }
}

fn options() -> findings::Options<'static> {
    findings::Options { published: built_in(), ..findings::Options::default() }
}

/// The report of runs next to published results, with the bytes of `tardy report`.
fn html(session: &Session, numbers: &[usize], ids: &[String]) -> Result<Answer, String> {
    let mut runs: Vec<Run> = chosen(session, numbers)?.into_iter().cloned().collect();
    for id in ids {
        built_in_named(id)?;
        for run in runs.iter_mut().filter(|run| !run.plan.published.contains(id)) {
            run.plan.published.push(id.clone());
        }
    }
    let content = report::html(&runs.iter().collect::<Vec<_>>(), &options()).into_bytes();
    Ok(Answer { content, ..Answer::default() })
}

fn tables(session: &Session, numbers: &[usize]) -> Result<Answer, String> {
    let tables = report::tables(&chosen(session, numbers)?, &options());
    let tables = tables.into_iter().map(|table| json!({ "title": table.title, "csv": table.csv }));
    Ok(Value::Array(tables.collect()).into())
}

/// Each run next to each published result, as `tardy compare RUN published:ID` prints it.
fn with_published(session: &Session, numbers: &[usize], ids: &[String]) -> Result<Answer, String> {
    let mut text = String::new();
    for run in chosen(session, numbers)? {
        for id in ids {
            let one = match_of(run, built_in_named(id)?);
            text += &format!("{}\n\n", harmless(&run.headline()));
            text += &published::compared(&one, TEXT_WIDTH);
            text.push('\n');
        }
    }
    Ok(json!({ "text": text }).into())
}

/// The outcome of `tardy gate`: a requirement on each line, or several in quotes behind `--require`.
fn judged(session: &Session, numbers: &[usize], text: &str, form: &str) -> Result<Answer, String> {
    let mut required = Vec::new();
    for line in text.lines().map(requirement_of_line).filter(|line| !line.is_empty()) {
        required.push(line.parse::<Requirement>().map_err(|error| error.to_string())?);
    }
    if required.is_empty() {
        return Err("nothing is required; write for example p99.9<500us".to_owned());
    }
    let form = forms::by_name(form).ok_or_else(|| format!("there is no form '{form}'"))?;
    let runs = chosen(session, numbers)?;
    let names = tardy_plot::curve::names(&runs);
    let judged: Vec<Judged> =
        runs.iter().zip(&names).flat_map(|(run, name)| Judged::all(run, name, &required)).collect();
    let outcome = match forms::outcome(&judged) {
        Outcome::Passed => "passed",
        Outcome::Inconclusive => "inconclusive",
        Outcome::Failed => "failed",
        Outcome::Invalid => "invalid",
    };
    Ok(json!({ "outcome": outcome, "text": (form.write)(&judged) }).into())
}

/// A line of the page's field: a requirement, with or without the option's name and quotes around it.
fn requirement_of_line(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_prefix("--require").map_or(line, |rest| rest.trim_start_matches(['=', ' ']));
    line.trim_matches(['\'', '"']).trim()
}

/// A figure as SVG, or its data as CSV.
fn figure(session: &Session, numbers: &[usize], kind: &str, data: bool) -> Result<Answer, String> {
    let runs = chosen(session, numbers)?;
    let kind = KINDS
        .into_iter()
        .find(|one| one.name() == kind)
        .ok_or_else(|| format!("there is no plot '{kind}'"))?;
    let versus = match (kind, &runs[..]) {
        (Kind::Shift, [base, candidate]) => {
            Some(versus::of(&[*base], &[*candidate], &versus::Options::default())?)
        }
        _ => None,
    };
    let plot = Plot {
        kind,
        runs: &runs,
        versus: versus.as_ref(),
        title: None,
        options: PlotOptions {
            limit_ns: runs.iter().find_map(|run| run.plan.limit_ns),
            ..PlotOptions::default()
        },
    };
    let content = if data { plot.csv() } else { plot.svg() };
    Ok(Answer { content: content?.into_bytes(), ..Answer::default() })
}

/// The files of an export, one after the other; their names and lengths are in the value.
fn exported(run: &Run, to: &str, unit: &str, limit: &str, outlier: usize) -> Result<Answer, String> {
    let format =
        EXPORTS.iter().find(|one| one.name == to).ok_or_else(|| format!("there is no format '{to}'"))?;
    let limit_ns = match limit.trim() {
        "" => None,
        limit => Some(parse_duration_ns(limit).map_err(|error| error.to_string())?),
    };
    let unit = if unit == "ns" { Unit::Ns } else { Unit::Us };
    let options = ExportOptions { unit, limit_ns, outlier: outlier.max(1) };
    let parts = export(run, format, &options).map_err(|error| error.to_string())?;
    let mut remarks = what_is_lost(run, format);
    if !run.validity.valid {
        remarks.insert(0, format!("this run is invalid, which {to} may not show"));
    }
    let files: Vec<Value> =
        parts.iter().map(|(suffix, content)| json!({ "suffix": suffix, "length": content.len() })).collect();
    let is_text = format.content != ExportContent::TraceBytes;
    let content = parts.into_iter().flat_map(|(_, content)| content).collect();
    Ok(Answer { value: json!({ "files": files, "remarks": remarks, "text": is_text }), content })
}

/// A link to runs, and Markdown with it.
fn share(session: &Session, numbers: &[usize], keep: &[String], base: &str) -> Result<Answer, String> {
    let runs = chosen(session, numbers)?;
    let shared = shared(&runs, keep, base, &report::first_screen).map_err(|error| error.to_string())?;
    // From the link itself, so that the text has nothing that was taken out.
    let opened = tardy_share::link::runs(&shared.link).map_err(|error| error.to_string())?;
    let markdown = markdown::of(&opened.iter().collect::<Vec<_>>(), &shared.link);
    Ok(json!({ "shared": shared, "markdown": markdown }).into())
}

/// A source for requests that read none.
impl Source for () {
    fn open(&self) -> Box<dyn Read + '_> {
        Box::new(std::io::empty())
    }
}
