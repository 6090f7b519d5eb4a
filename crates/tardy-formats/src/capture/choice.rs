//! The choice of a file's channels.

use tardy_record::capture::Edge;

use crate::error::{ImportError, Result};
use crate::import::ImportOptions;
use crate::imported::Used;

/// The most channels that an error lists.
const NAMED_MAX: usize = 40;

/// The chosen channels.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// Indices into the file's channels: the stimulus and the answer, or a single channel.
    pub(crate) indices: Vec<usize>,
    /// Their names.
    pub(crate) names: Vec<String>,
    /// Which edges count.
    pub(crate) edge: Edge,
    /// A remark if two channels were chosen without an option.
    pub(crate) remark: Option<String>,
    /// Which options had an effect.
    pub(crate) used: Used,
}

/// A file's channels by name. A format may have several names for a channel.
pub(crate) trait Named {
    /// The channels with this name.
    fn called(&self, name: &str) -> Vec<usize>;
    /// The number of channels.
    fn count(&self) -> usize;
    /// The name of channel `index`.
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
    /// Chooses among `channels` by `options`: by name, or by number from 0 in the order of the file.
    ///
    /// # Errors
    /// If a name matches no channel or several, or the file has more than two channels and none is named.
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
                let reason =
                    "the stimulus and the answer are the same channel; name two channels, or use only --out";
                return Err(ImportError::field(format!("channel {}", channels.name(input)), reason));
            }
            (Some(input), Some(output), _) => vec![input, output],
            (Some(one), None, _) | (None, Some(one), _) => vec![one],
            (None, None, 0) => return Err(ImportError::field("the file", "it contains no channel")),
            (None, None, 1) => vec![0],
            (None, None, 2) => {
                remark = Some(format!(
                    "no channel was named: {} is taken as the stimulus and {} as the answer",
                    channels.name(0),
                    channels.name(1)
                ));
                vec![0, 1]
            }
            (None, None, _) => {
                let reason = format!(
                    "choose with --in CHANNEL (stimulus) and --out CHANNEL (answer), or with --out \
                     alone; the channels are {}",
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
                let reason = format!("there is no such channel; the channels are {}", listed(channels));
                ImportError::field(place(), reason)
            })
        }
        several => {
            let all: Vec<String> =
                several.iter().take(NAMED_MAX).map(|index| shown(&channels.name(*index))).collect();
            let reason = format!("several channels have this name: {}; choose one", all.join(", "));
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
