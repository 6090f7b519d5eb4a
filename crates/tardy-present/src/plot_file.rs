//! Plots as separate files, which `tardy plot` writes.

use tardy_analyse::findings;
use tardy_analyse::name::Readings;
use tardy_analyse::tail::{Depth, Tail};
use tardy_compare::versus::{Experiment, Versus};
use tardy_record::Run;

use crate::sections;
use crate::sections::extremes::refusal;
use tardy_plot::numbers::harmless;
use tardy_plot::plot_data;
use tardy_plot::svg::document;
use tardy_plot::{
    self as plot, Options, cpus, curve, exceedance, extremes, heat, quantiles, shift, timeline,
};

/// A kind of plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The number of readings by latency.
    Histogram,
    /// The share of readings at or above each latency.
    Exceedance,
    /// Maxima over time, loads and environment.
    Timeline,
    /// The highest latency of each CPU over time.
    Heatmap,
    /// The distribution over time.
    Distribution,
    /// Histogram and exceedance of several runs.
    Compare,
    /// Quantiles with their confidence intervals.
    Quantiles,
    /// Levels that are exceeded rarely, with their confidence intervals.
    ReturnLevels,
    /// Differences of quantiles between two runs or two groups of boots.
    Shift,
}

impl Kind {
    /// The kinds that draw runs alone. [`Self::Shift`] draws a comparison.
    pub const OF_RUNS: [Self; 8] = [
        Self::Histogram,
        Self::Exceedance,
        Self::Timeline,
        Self::Heatmap,
        Self::Distribution,
        Self::Compare,
        Self::Quantiles,
        Self::ReturnLevels,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Histogram => "histogram",
            Self::Exceedance => "exceedance",
            Self::Timeline => "timeline",
            Self::Heatmap => "heatmap",
            Self::Distribution => "distribution",
            Self::Compare => "compare",
            Self::Quantiles => "quantiles",
            Self::ReturnLevels => "return-levels",
            Self::Shift => "shift",
        }
    }

    /// Why the end of the latency axis cannot be chosen for this kind; `None` if it can.
    pub fn refused_end(self) -> Option<String> {
        match self {
            Self::Histogram | Self::Exceedance | Self::Compare => None,
            Self::Timeline
            | Self::Heatmap
            | Self::Distribution
            | Self::Quantiles
            | Self::ReturnLevels
            | Self::Shift => Some(format!(
                "the end of the latency axis cannot be chosen for --kind {}; it can for histogram, exceedance and compare",
                self.name()
            )),
        }
    }

    /// Why `runs` cannot be drawn as this kind of plot, whatever is in them; `None` if they can.
    fn refused(self, runs: &[&Run]) -> Option<String> {
        let (name, given) = (self.name(), runs.len());
        match self {
            Self::Histogram | Self::Exceedance | Self::Quantiles => None,
            Self::Timeline | Self::Heatmap | Self::Distribution | Self::ReturnLevels => {
                (given != 1).then(|| {
                    format!("--kind {name} draws one run, and {given} are given; draw each into its own file")
                })
            }
            Self::Compare => {
                (given < 2).then(|| "--kind compare draws two or more runs, and one is given".to_owned())
            }
            // What it draws is compared beforehand.
            Self::Shift => None,
        }
    }
}

/// A plot: how to draw it, and its data.
#[derive(Clone, Debug)]
pub struct Plot<'a> {
    /// Its kind.
    pub kind: Kind,
    /// The runs, at least one.
    pub runs: &'a [&'a Run],
    /// The comparison that [`Kind::Shift`] draws; `None` for other kinds.
    pub versus: Option<&'a Versus>,
    /// Its title; `None` for a histogram: that of the runs; for other kinds: none.
    pub title: Option<String>,
    /// How it is drawn.
    pub options: Options,
}

impl Plot<'_> {
    /// The plot as SVG.
    ///
    /// # Errors
    /// If the runs have nothing to draw, or if their number is wrong: a message for the user.
    pub fn svg(&self) -> Result<String, String> {
        self.kind.refused(self.runs).map_or(Ok(()), Err)?;
        if let Some(reason) = self.options.latency_max_ns.and_then(|_| self.kind.refused_end()) {
            return Err(reason);
        }
        let options = Options { standalone: false, ..self.options() };
        let (run, curves) = (self.runs[0], curve::curves(self.runs));
        if self.kind == Kind::Shift {
            return self.shift(&options).map(|drawing| document(self.title.as_deref(), &[drawing]));
        }
        let nothing = |what: &str| format!("{} has no {what}, so there is nothing to draw", self.run_names());
        let over_time = || nothing("readings over time");
        if self.kind == Kind::Histogram {
            let title = self.title.clone().unwrap_or_else(|| title(self.runs));
            return Ok(plot::latency::draw("latency", &title, &curves, &self.options()));
        }
        let plots = match self.kind {
            Kind::Timeline => {
                let recorded = run.own_series().any(|series| !series.block_maxima.maxima_ns.is_empty());
                let peaks = sections::peaks(sections::ALL, run);
                recorded
                    .then(|| vec![timeline::draw("timeline", run, &peaks, &options)])
                    .ok_or_else(over_time)?
            }
            Kind::Heatmap => vec![cpus::draw("cpus", run, &options).ok_or_else(over_time)?],
            Kind::Distribution => vec![heat::draw("heat", run, &options).ok_or_else(over_time)?],
            Kind::ReturnLevels => {
                let tails = self.tails()?;
                let number = |index: usize| format!("levels-{index}");
                let draw = |(index, tail)| extremes::levels(&number(index), tail, &options);
                tails.iter().enumerate().filter_map(draw).collect()
            }
            Kind::Quantiles => {
                let plot = quantiles::draw("quantiles", self.runs, &options);
                vec![plot.ok_or_else(|| nothing("quantiles that it determines"))?]
            }
            _ if curves.is_empty() => return Err(nothing("distribution")),
            Kind::Exceedance => vec![exceedance::draw("exceedance", &curves, &options)],
            Kind::Compare | Kind::Histogram | Kind::Shift => {
                let options = Options { height: options.height.map(|height| height / 2.0), ..options };
                let histogram = plot::latency::draw("latency", &title(self.runs), &curves, &options);
                vec![histogram, exceedance::draw("exceedance", &curves, &options)]
            }
        };
        Ok(document(self.title.as_deref(), &plots))
    }

    /// The data of the plot as CSV, with a line of heads.
    ///
    /// # Errors
    /// As [`Plot::svg`].
    pub fn csv(&self) -> Result<String, String> {
        self.svg()?;
        let (options, curves) = (self.options(), curve::curves(self.runs));
        Ok(match self.kind {
            Kind::Histogram => plot_data::histogram(&curves, &options),
            Kind::Exceedance => plot_data::exceedance(&curves),
            Kind::Timeline => plot_data::timeline(self.runs[0]),
            Kind::Heatmap => plot_data::heatmap(self.runs[0], &options),
            Kind::Distribution => plot_data::distribution(self.runs[0]),
            Kind::Compare => plot_data::compare(&curves, &options),
            Kind::Quantiles => plot_data::quantiles(self.runs),
            Kind::ReturnLevels => plot_data::return_levels(&self.tails()?.iter().collect::<Vec<_>>()),
            Kind::Shift => {
                self.experiment().map(|experiment| shift::data(&experiment.shift)).unwrap_or_default()
            }
        })
    }

    /// The tails of the run's phases whose levels are supported.
    ///
    /// # Errors
    /// Why none is: a message for the user.
    fn tails(&self) -> Result<Vec<Tail>, String> {
        let run = self.runs[0];
        let options = findings::Options { tails: Depth::Diagnostics, ..findings::Options::default() };
        let tails = findings::of(run, &options).tails;
        let why = tails.first().map_or_else(
            || "there is no tail to extrapolate: the run is invalid, has no latencies, or its duration is unknown".to_owned(),
            refusal,
        );
        let supported: Vec<Tail> = tails.into_iter().filter(|tail| tail.supported).collect();
        match supported.is_empty() {
            true => Err(format!("{}: {why}", self.run_names())),
            false => Ok(supported),
        }
    }

    /// What a plot of differences draws: the experiment of the headline.
    fn experiment(&self) -> Option<&Experiment> {
        let versus = self.versus?;
        versus.experiments.get(versus.primary.unwrap_or(0))
    }

    fn shift(&self, options: &Options) -> Result<String, String> {
        let (versus, experiment) = self
            .versus
            .zip(self.experiment())
            .ok_or("--kind shift draws two runs, or --base and --candidate")?;
        let [base, candidate] = [&versus.base, &versus.candidate].map(|group| harmless(&group.name));
        let readings = experiment.readings;
        let options = Options { readings, words: sections::words(sections::ALL, readings), ..*options };
        shift::draw("shift", &experiment.shift, &base, &candidate, &options)
            .ok_or_else(|| format!("{} has too few readings for quantiles", self.run_names()))
    }

    fn run_names(&self) -> String {
        let names = curve::names(self.runs);
        if let [name] = &names[..] { name.clone() } else { names.join(", ") }
    }

    fn options(&self) -> Options {
        options(self.runs, &self.options)
    }
}

/// The latency histogram of `runs`, with their title.
pub fn histogram(runs: &[&Run], options: &Options) -> String {
    plot::latency::draw("latency", &title(runs), &curve::curves(runs), &self::options(runs, options))
}

fn title(runs: &[&Run]) -> String {
    match runs {
        [run] => harmless(&run.headline()),
        runs => format!("Latency of {} runs", runs.len()),
    }
}

/// `options` with the marks and the terms of `runs`.
fn options(runs: &[&Run], options: &Options) -> Options {
    let readings = Readings::of_runs(runs);
    Options {
        mark: options.mark.or_else(|| plot::mark(runs)),
        readings,
        words: sections::words(sections::ALL, readings),
        ..*options
    }
}
