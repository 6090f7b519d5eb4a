//! `tardy plot`: a plot as SVG, PNG or PDF, and its data as CSV.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::ValueEnum;
use serde::Serialize;
use tardy_plot::print::for_print;
use tardy_plot::{Options, curve};
use tardy_present::plot_file::{Kind, Plot};
use tardy_recipe::wrong;
use tardy_record::Run;

use tardy_args::{FormatArg, GroupArgs, KindArg, PlotArgs};
use tardy_command::{Exit, executables, output, versus};

/// The shortest latency axis, in ns: its labels are in us with two decimals.
const X_MAX_MIN_NS: u64 = 100;

/// The result as JSON.
#[derive(Serialize)]
struct Drawn {
    kind: &'static str,
    format: &'static str,
    plot: String,
    /// The file of the data, if it was requested.
    data: Option<String>,
    /// The names of the runs without a distribution, which are not drawn.
    undrawn: Vec<String>,
}

/// Draws the plot.
pub(crate) fn run(arguments: &PlotArgs) -> Result<Exit> {
    let format = format(arguments)?;
    let path =
        arguments.output.clone().unwrap_or_else(|| PathBuf::from(format!("tardy-plot.{}", name(format))));
    if arguments.data.as_ref() == Some(&path) {
        return Err(wrong("data", "the data and the plot are the same file; choose another --data").into());
    }
    if let Some(x_max) = arguments.x_max.filter(|latency| latency.ns() < X_MAX_MIN_NS) {
        return Err(wrong("x-max", format!("{x_max} is too short for an axis; give at least 100ns")).into());
    }
    if let Some(reason) = arguments.x_max.and_then(|_| Kind::from(arguments.kind).refused_end()) {
        return Err(wrong("x-max", reason).into());
    }
    if !arguments.names.is_empty() && arguments.names.len() != arguments.runs.len() {
        let (names, runs) = (arguments.names.len(), arguments.runs.len());
        return Err(
            wrong("name", format!("names: {names}, runs: {runs}; give --name once for each run")).into()
        );
    }
    let versus = compared(arguments)?;
    if let Some(reason) = versus.as_ref().and_then(versus::Compared::obstacle) {
        bail!("{reason}");
    }
    let mut runs = match &versus {
        Some(versus) => versus.runs.clone(),
        None => output::open_runs(&arguments.runs, arguments.redaction)?,
    };
    for (run, name) in runs.iter_mut().zip(&arguments.names) {
        run.origin.name.clone_from(name);
    }
    let runs: Vec<&Run> = runs.iter().collect();
    let undrawn = report_undrawn(arguments, &runs)?;
    let plot = Plot {
        kind: arguments.kind.into(),
        runs: &runs,
        versus: versus.as_ref().map(|compared| &compared.versus),
        title: arguments.names.first().filter(|_| runs.len() == 1).cloned().flatten(),
        options: Options {
            width: arguments.width,
            height: arguments.height,
            latency_max_ns: arguments.x_max.map(|latency| latency.ns()),
            limit_ns: runs.iter().find_map(|run| run.plan.limit_ns),
            ..Options::default()
        },
    };
    let content = content(&plot, format, arguments.scale)?;
    write(arguments, &path, &content, "plot")?;
    if let Some(data) = &arguments.data {
        write(arguments, data, &csv(&plot)?, "data")?;
    }
    if arguments.json {
        output::print_json(&Drawn {
            kind: plot.kind.name(),
            format: name(format),
            plot: path.display().to_string(),
            data: arguments.data.as_ref().map(|data| data.display().to_string()),
            undrawn,
        })?;
    }
    Ok(Exit::Done)
}

/// The comparison that --kind shift draws: two runs or two groups; `None` for other kinds.
fn compared(arguments: &PlotArgs) -> Result<Option<versus::Compared>> {
    let groups = &arguments.groups;
    match (arguments.kind, &arguments.runs[..]) {
        (KindArg::Shift, [base, candidate]) => {
            let of_one = |path: &PathBuf| vec![path.clone()];
            let groups = GroupArgs {
                base: of_one(base),
                candidate: of_one(candidate),
                factor: groups.factor.clone(),
                limit: None,
            };
            versus::Compared::of(&groups, arguments.redaction)
        }
        (KindArg::Shift, []) => versus::Compared::of(groups, arguments.redaction),
        (KindArg::Shift, runs) => {
            let reason =
                format!("shift needs two runs, not {}; give groups with --base and --candidate", runs.len());
            Err(wrong("kind", reason).into())
        }
        _ if groups.base.is_empty() => Ok(None),
        _ => {
            Err(wrong("base", "groups are drawn by --kind shift; give the runs alone for other kinds").into())
        }
    }
}

/// Reports and returns the names of the runs without a distribution, if the plot would draw it.
fn report_undrawn(arguments: &PlotArgs, runs: &[&Run]) -> Result<Vec<String>> {
    let is_drawn = matches!(arguments.kind.into(), Kind::Histogram | Kind::Exceedance | Kind::Compare);
    let undrawn = if is_drawn { curve::undrawn(runs) } else { Vec::new() };
    if !undrawn.is_empty() && curve::curves(runs).is_empty() {
        bail!(
            "nothing to draw: only counts and extremes are known of {}, not a distribution; 'tardy show' prints them",
            undrawn.join(", ")
        );
    }
    for name in &undrawn {
        output::report(&format!("{name} is not drawn: it has no distribution"));
    }
    Ok(undrawn)
}

/// The format that was requested, or that of the ending of the plot file.
fn format(arguments: &PlotArgs) -> Result<FormatArg> {
    let ending = arguments.output.as_deref().and_then(Path::extension).map(|ending| ending.to_string_lossy());
    match (arguments.format, ending) {
        (Some(format), _) => Ok(format),
        (None, None) => Ok(FormatArg::Svg),
        (None, Some(ending)) => FormatArg::from_str(&ending, true).map_err(|_| {
            let reason = format!(
                "a plot cannot be written as '.{ending}'; end the name with .svg, .png, .pdf or .csv, or give --format"
            );
            wrong("output", reason).into()
        }),
    }
}

fn name(format: FormatArg) -> &'static str {
    match format {
        FormatArg::Svg => "svg",
        FormatArg::Png => "png",
        FormatArg::Pdf => "pdf",
        FormatArg::Csv => "csv",
    }
}

fn content(plot: &Plot<'_>, format: FormatArg, scale: u8) -> Result<Vec<u8>> {
    match format {
        FormatArg::Svg => svg(plot).map(String::into_bytes),
        FormatArg::Csv => csv(plot),
        FormatArg::Png | FormatArg::Pdf => picture(&svg(plot)?, format, scale),
    }
}

fn svg(plot: &Plot<'_>) -> Result<String> {
    plot.svg().map_err(anyhow::Error::msg)
}

fn csv(plot: &Plot<'_>) -> Result<Vec<u8>> {
    plot.csv().map(String::into_bytes).map_err(anyhow::Error::msg)
}

/// The plot as PNG or PDF, which a program of its own draws.
fn picture(svg: &str, format: FormatArg, scale: u8) -> Result<Vec<u8>> {
    let scale = scale.to_string();
    let arguments = match format {
        FormatArg::Png => vec!["png", scale.as_str()],
        _ => vec!["pdf"],
    };
    executables::converted("picture", &arguments, for_print(svg).as_bytes())
}

fn write(arguments: &PlotArgs, path: &Path, content: &[u8], what: &str) -> Result<()> {
    let inputs = [&arguments.runs[..], &arguments.groups.paths()].concat();
    output::claim(path, &inputs, arguments.force)?.write(content)?;
    output::report(&format!("{what} {}", path.display()));
    Ok(())
}
