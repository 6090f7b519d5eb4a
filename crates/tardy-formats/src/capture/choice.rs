//! Which channels of a file are looked at.

use tardy_record::capture::Edge;

use crate::error::{ImportError, Result};
use crate::import::ImportOptions;
use crate::imported::Used;

/// How many channels an error names.
const NAMED_MAX: usize = 40;

/// What was chosen.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// Indices into the file's channels: the stimulus and the answer, or one alone.
    pub(crate) indices: Vec<usize>,
    /// What they are called.
    pub(crate) names: Vec<String>,
    /// Which edges count.
    pub(crate) edge: Edge,
    /// What was chosen without being asked for.
    pub(crate) remark: Option<String>,
    /// Which options did it.
    pub(crate) used: Used,
}

/// A file's channels by name, for which the format may have more words than one.
pub(crate) trait Named {
    /// The channels that `name` may mean.
    fn called(&self, name: &str) -> Vec<usize>;
    /// How many there are.
    fn count(&self) -> usize;
    /// What channel `index` is called.
    fn name(&self, index: usize) -> String;
}

impl Named for [String] {
    fn called(&self, name: &str) -> Vec<usize> {
        let exact = |one: &String| one.trim() == name;
        (0..self.len()).filter(|index| exact(&self[*index])).collect()
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn name(&self, index: usize) -> String {
        self[index].clone()
    }
}

impl Choice {
    /// Chooses among `channels` as `options` say: by name, or by number from 0 in the order of the file.
    ///
    /// # Errors
    /// Where a name means no channel or several, or nothing was named and it is not clear what is meant.
    pub(crate) fn among<N: Named + ?Sized>(channels: &N, options: &ImportOptions) -> Result<Self> {
        let mut used = Used { edge: options.edge.is_some(), ..Used::default() };
        let named = |option: &str, name: &Option<String>| match name {
            Some(name) => find(channels, option, name.trim()).map(Some),
            None => Ok(None),
        };
        let input = named("--in", &options.input)?;
        let output = named("--out", &options.output)?;
        used.channels = input.is_some() || output.is_some();
        let edge = options.edge.unwrap_or_default();
        let mut remark = None;
        let indices: Vec<usize> = match (input, output, channels.count()) {
            (Some(input), Some(output), _) if input == output => {
                let reason = "it is the stimulus and the answer; name two channels, or only --out";
                return Err(ImportError::field(format!("channel {}", channels.name(input)), reason));
            }
            (Some(input), Some(output), _) => vec![input, output],
            (Some(one), None, _) | (None, Some(one), _) => vec![one],
            (None, None, 0) => return Err(ImportError::field("the file", "there is no channel in it")),
            (None, None, 1) => vec![0],
            (None, None, 2) => {
                remark = Some(format!(
                    "no channel was named: of the two, {} was taken for the stimulus and {} for the answer",
                    channels.name(0),
                    channels.name(1)
                ));
                vec![0, 1]
            }
            (None, None, _) => {
                let reason = format!(
                    "it is not clear which are meant: say --in CHANNEL (stimulus) and --out CHANNEL (answer), or --out \
                     alone; there are {}",
                    listed(channels)
                );
                return Err(ImportError::field("channels", reason));
            }
        };
        let names = indices.iter().map(|index| channels.name(*index)).collect();
        Ok(Self { indices, names, edge, remark, used })
    }
}

fn find<N: Named + ?Sized>(channels: &N, option: &str, name: &str) -> Result<usize> {
    let place = || format!("{option} {}", shown(name));
    match channels.called(name).as_slice() {
        [one] => Ok(*one),
        [] => {
            let number = name.parse::<usize>().ok().filter(|number| *number < channels.count());
            number.ok_or_else(|| {
                let reason = format!("there is no such channel; there are {}", listed(channels));
                ImportError::field(place(), reason)
            })
        }
        several => {
            let all: Vec<String> =
                several.iter().take(NAMED_MAX).map(|index| shown(&channels.name(*index))).collect();
            let reason = format!("several channels are called that: {}; say which", all.join(", "));
            Err(ImportError::field(place(), reason))
        }
    }
}

/// The channels of a file, for an error.
fn listed<N: Named + ?Sized>(channels: &N) -> String {
    let names: Vec<String> =
        (0..channels.count().min(NAMED_MAX)).map(|index| shown(&channels.name(index))).collect();
    let more = channels.count().saturating_sub(NAMED_MAX);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    if names.is_empty() { "none".to_owned() } else { names.join(", ") + &more }
}

fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}
