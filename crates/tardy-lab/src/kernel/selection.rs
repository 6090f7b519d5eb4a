//! The names of several of Debian's kernels: `debian:6.12..7.3-rt` is the newest of every series, `debian:6.12.*-rt` every version
//! of a series, `debian:all-rt` every version of all.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::preference::{of_source, preference};
use super::spec::{self, DebianKernel, KernelSpec, Source, SpecError};
use crate::packages::{PackageVersion, version};

/// One kernel, or several of Debian's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelSelection {
    /// A kernel by its name.
    One(KernelSpec),
    /// Several of Debian's kernels.
    Several(Several),
}

/// Several of Debian's kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Several {
    /// Which.
    pub which: Which,
    /// Whether they are the PREEMPT_RT kernels.
    pub rt: bool,
    /// Parameters that are added to the command line of each; empty for none.
    pub append: String,
}

/// Which of Debian's kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The newest of every series from the first to the last, both included.
    Range(Series, Series),
    /// Every version of a series.
    Versions(Series),
    /// Every version of every series.
    All,
}

/// A series of kernels: the first two numbers of a version, which order it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    major: u32,
    minor: u32,
}

/// A version of one of Debian's kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvailableKernel {
    /// The package and its version.
    pub package: PackageVersion,
    /// The first two numbers of its version.
    pub series: String,
    /// Whether it is the PREEMPT_RT kernel.
    pub rt: bool,
}

/// Why a selection names no kernel.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SelectionError {
    /// None is available.
    #[error(
        "{selection} names no kernel that is cached or that Debian offers; available are {available}; --refresh asks Debian again"
    )]
    Nothing {
        /// As written.
        selection: String,
        /// The series that are available.
        available: String,
    },
}

impl FromStr for Series {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let numbers = spec::series(text).ok_or_else(|| SpecError::Series(text.to_owned()))?;
        Ok(Self { major: numbers.0, minor: numbers.1 })
    }
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl KernelSelection {
    /// Parses the name of a kernel, or of several.
    ///
    /// # Errors
    /// If the text names none.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let head = text.split(',').next().unwrap_or_default().trim();
        let kernels = head.strip_prefix("debian:").unwrap_or_default();
        let (kernels, rt) = kernels.strip_suffix("-rt").map_or((kernels, false), |kernels| (kernels, true));
        let which = match (kernels.split_once(".."), kernels.strip_suffix(".*")) {
            (Some((from, to)), _) => range(from.parse()?, to.parse()?)?,
            (None, Some(series)) => Which::Versions(series.parse()?),
            (None, None) if kernels == "all" => Which::All,
            _ => return KernelSpec::parse(text).map(Self::One),
        };
        // The options are those of any kernel of Debian.
        let any = format!("debian:0.0{}", &text[text.find(',').unwrap_or(text.len())..]);
        let KernelSpec { append, .. } = KernelSpec::parse(&any)?;
        Ok(Self::Several(Several { which, rt, append }))
    }

    /// The kernels among `available` that this names, oldest first. [`KernelSelection::One`] names its kernel, available or not.
    ///
    /// # Errors
    /// If it names none.
    pub fn among(&self, available: &[AvailableKernel]) -> Result<Vec<KernelSpec>, SelectionError> {
        let several = match self {
            Self::One(spec) => return Ok(vec![spec.clone()]),
            Self::Several(several) => several,
        };
        let mut kernels: Vec<(Series, &AvailableKernel)> = available
            .iter()
            .filter(|kernel| kernel.rt == several.rt)
            .filter_map(|kernel| Some((kernel.series.parse().ok()?, kernel)))
            .filter(|(series, _)| several.which.contains(*series))
            .collect();
        kernels.sort_by(|(_, a), (_, b)| preference(&a.package, &b.package));
        let found: Vec<KernelSpec> = match several.which {
            Which::Range(..) => {
                let mut all: Vec<Series> = kernels.into_iter().map(|(series, _)| series).collect();
                all.sort_unstable();
                all.dedup();
                all.into_iter().map(|series| several.kernel(series.to_string(), None)).collect()
            }
            Which::Versions(_) | Which::All => one_build_of_each(&kernels)
                .map(|kernel| several.kernel(kernel.series.clone(), Some(kernel.package.version.clone())))
                .collect(),
        };
        if found.is_empty() {
            return Err(self.nothing_among(available));
        }
        Ok(found)
    }

    fn nothing_among(&self, available: &[AvailableKernel]) -> SelectionError {
        let mut all: Vec<(Series, bool)> =
            available.iter().filter_map(|kernel| Some((kernel.series.parse().ok()?, kernel.rt))).collect();
        all.sort_unstable();
        all.dedup();
        let named: Vec<String> = all
            .into_iter()
            .map(|(series, rt)| DebianKernel { series: series.to_string(), rt, exact: None }.to_string())
            .collect();
        let available = if named.is_empty() { "none".to_owned() } else { named.join(", ") };
        SelectionError::Nothing { selection: self.to_string(), available }
    }
}

/// The versions from one of Debian's kernels to another, both included, one build of each; from newer to older if `from` is newer.
/// A kernel without a version is the newest of its series.
///
/// # Errors
/// If one of them is not available.
pub fn between(
    [from, to]: [&DebianKernel; 2],
    append: &str,
    available: &[AvailableKernel],
) -> Result<Vec<KernelSpec>, SelectionError> {
    let several = Several { which: Which::All, rt: from.rt, append: append.to_owned() };
    let selection = KernelSelection::Several(several);
    let mut all = selection.among(available)?;
    let mut at = |wanted: &DebianKernel| {
        let place = all.iter().rposition(|one| match &one.source {
            Source::Debian(one) => is_build_of(wanted, one),
            Source::Build(_) | Source::Path(_) => false,
        });
        let place = place.ok_or_else(|| {
            let selection = KernelSelection::One(KernelSpec {
                source: Source::Debian(wanted.clone()),
                append: String::new(),
            });
            selection.nothing_among(available)
        })?;
        // The build that was named, where the other one is preferred.
        if let (Source::Debian(one), Some(exact)) = (&mut all[place].source, &wanted.exact) {
            one.exact = Some(exact.clone());
        }
        Ok(place)
    };
    let (from, to) = (at(from)?, at(to)?);
    let mut between = all[from.min(to)..=from.max(to)].to_vec();
    if from > to {
        between.reverse();
    }
    Ok(between)
}

fn range(from: Series, to: Series) -> Result<Which, SpecError> {
    match from <= to {
        true => Ok(Which::Range(from, to)),
        false => Err(SpecError::Reversed(from.to_string(), to.to_string())),
    }
}

/// Whether `one` is the kernel `wanted`, or another build of its version.
fn is_build_of(wanted: &DebianKernel, one: &DebianKernel) -> bool {
    let is_same = |exact: &String| {
        let version = one.exact.as_deref().unwrap_or_default();
        version::compare(of_source(exact), of_source(version)).is_eq()
    };
    one.series == wanted.series && wanted.exact.as_ref().is_none_or(is_same)
}

/// The preferred one of the builds of each version: a version is built for several releases of Debian. `kernels` are in the order of
/// preference.
fn one_build_of_each<'a>(
    kernels: &[(Series, &'a AvailableKernel)],
) -> impl Iterator<Item = &'a AvailableKernel> {
    let source = |at: usize| of_source(&kernels[at].1.package.version);
    let is_last =
        |at: &usize| at + 1 == kernels.len() || version::compare(source(*at), source(at + 1)).is_ne();
    let last: Vec<&AvailableKernel> = (0..kernels.len()).filter(is_last).map(|at| kernels[at].1).collect();
    last.into_iter()
}

impl Which {
    fn contains(&self, series: Series) -> bool {
        match self {
            Self::Range(from, to) => (*from..=*to).contains(&series),
            Self::Versions(wanted) => series == *wanted,
            Self::All => true,
        }
    }
}

impl Several {
    fn kernel(&self, series: String, exact: Option<String>) -> KernelSpec {
        let kernel = DebianKernel { series, rt: self.rt, exact };
        KernelSpec { source: Source::Debian(kernel), append: self.append.clone() }
    }
}

impl fmt::Display for KernelSelection {
    /// The form that [`KernelSelection::parse`] reads as the same kernels.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Several { which, rt, append } = match self {
            Self::One(spec) => return spec.fmt(f),
            Self::Several(several) => several,
        };
        match which {
            Which::Range(from, to) => write!(f, "debian:{from}..{to}")?,
            Which::Versions(series) => write!(f, "debian:{series}.*")?,
            Which::All => f.write_str("debian:all")?,
        }
        f.write_str(if *rt { "-rt" } else { "" })?;
        spec::write_append(f, append)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn available() -> Vec<AvailableKernel> {
        let kernel = |version: &str, rt: bool| AvailableKernel {
            package: PackageVersion { name: "linux-image".into(), version: version.into() },
            series: version.splitn(3, '.').take(2).collect::<Vec<_>>().join("."),
            rt,
        };
        let versions = [
            "7.0.4-1~bpo13+1",
            "6.12.90-1~bpo12+1",
            "6.12.90-1",
            "6.12.90-2",
            "6.12.117-1~deb12u1",
            "6.12.117-1",
            "6.1.192-2",
            "6.9.1-1",
            "7.3.4-1~bpo13+1",
        ];
        let mut all: Vec<AvailableKernel> = versions.iter().map(|version| kernel(version, true)).collect();
        all.push(kernel("6.16.3-1", false));
        all
    }

    fn names(text: &str) -> Result<Vec<String>, String> {
        let selection = KernelSelection::parse(text).map_err(|error| error.to_string())?;
        assert_eq!(KernelSelection::parse(&selection.to_string()).as_ref(), Ok(&selection));
        let specs = selection.among(&available()).map_err(|error| error.to_string())?;
        Ok(specs.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_range_is_the_newest_of_every_series_with_its_ends() {
        assert_eq!(
            names("debian:6.1..7.0-rt").unwrap(),
            ["debian:6.1-rt", "debian:6.9-rt", "debian:6.12-rt", "debian:7.0-rt"]
        );
        assert_eq!(names("debian:6.0..6.99").unwrap(), ["debian:6.16"]);
        assert_eq!(
            names("debian:7.0..9.0-rt,append='preempt=full quiet'").unwrap(),
            ["debian:7.0-rt,append='preempt=full quiet'", "debian:7.3-rt,append='preempt=full quiet'"]
        );
    }

    #[test]
    fn every_version_is_in_the_order_of_versions_and_one_build_of_each() {
        assert_eq!(
            names("debian:6.12.*-rt").unwrap(),
            [
                "debian:6.12-rt=6.12.90-1~bpo12+1",
                "debian:6.12-rt=6.12.90-2",
                "debian:6.12-rt=6.12.117-1~deb12u1"
            ]
        );
        let all = names("debian:all-rt").unwrap();
        assert_eq!(all.len(), 7);
        assert_eq!(all.first().map(String::as_str), Some("debian:6.1-rt=6.1.192-2"));
        assert_eq!(all.last().map(String::as_str), Some("debian:7.3-rt=7.3.4-1~bpo13+1"));
    }

    #[test]
    fn the_versions_between_two_kernels_include_both() {
        let kernel = |text: &str| match KernelSpec::parse(text).unwrap().source {
            Source::Debian(kernel) => kernel,
            Source::Build(_) | Source::Path(_) => unreachable!(),
        };
        let names = |from, to| -> Result<Vec<String>, String> {
            let found = between([&kernel(from), &kernel(to)], "quiet", &available());
            Ok(found
                .map_err(|error| error.to_string())?
                .iter()
                .map(|one| one.to_string().replace(",append=quiet", ""))
                .collect())
        };
        assert_eq!(
            names("debian:6.9-rt", "debian:6.12-rt=6.12.90-1").unwrap(),
            ["debian:6.9-rt=6.9.1-1", "debian:6.12-rt=6.12.90-1"]
        );
        assert_eq!(
            names("debian:7.0-rt", "debian:6.12-rt").unwrap(),
            ["debian:7.0-rt=7.0.4-1~bpo13+1", "debian:6.12-rt=6.12.117-1~deb12u1"]
        );
        assert_eq!(names("debian:6.1-rt", "debian:7.3-rt").unwrap().len(), 7);
        let error = names("debian:6.1-rt", "debian:6.12-rt=6.12.1-1").unwrap_err();
        assert!(error.starts_with("debian:6.12-rt=6.12.1-1 names no kernel"), "{error}");
    }

    #[test]
    fn one_kernel_stays_one() {
        assert_eq!(names("debian:6.12-rt").unwrap(), ["debian:6.12-rt"]);
        assert_eq!(names("debian:4.9=4.9.1-1").unwrap(), ["debian:4.9=4.9.1-1"]);
        assert_eq!(names("./a..b/vmlinuz").unwrap(), ["./a..b/vmlinuz"]);
    }

    #[test]
    fn errors_name_what_is_available() {
        let errors = [
            "debian:7.0..6.1-rt",
            "debian:6.2..6.8-rt",
            "debian:5.10.*",
            "debian:6..7-rt",
            "debian:x.*",
            "debian:all-rt=6.12",
            "debian:6.12..7.0,modules=/x",
        ];
        let errors: Vec<String> = errors.iter().map(|text| names(text).expect_err(text)).collect();
        insta::assert_snapshot!(errors.join("\n"));
    }
}
