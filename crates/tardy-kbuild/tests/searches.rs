//! Bisections with kernels that are built in a moment, of which the image alone says whether they are bad.

use std::fmt::Write as _;

use tardy_kbuild::build::{Original, Request};
use tardy_kbuild::commits;
use tardy_kbuild::error::BuildError;
use tardy_kbuild::source::SourceSpec;
use tardy_lab::arch::Arch;
use tardy_search::bisection::{Bisection, EndError};
use tardy_search::configuration::Setting;
use tardy_search::{Verdict, delta};

use crate::fake_source::{FakeSource, image};

const COMMITS: usize = 30;

/// A source whose commit `planted` brings a word into the image, and whose commit `broken` does not compile.
fn repository(planted: usize, broken: Option<usize>) -> FakeSource {
    let source = FakeSource::new();
    for number in 0..COMMITS {
        let mut text = format!("int version = {number};\n");
        if number >= planted {
            text.push_str("const char slow[] = \"slow path\";\n");
        }
        if Some(number) == broken {
            text.push_str("this is not C;\n");
        }
        source.write("version.c", &text);
        source.commit(&format!("change {number}"));
    }
    source
}

/// The subjects of the last good and the first bad commit, how many between them could not be tested, and how many were compiled.
fn search(source: &FakeSource) -> (String, String, usize, usize) {
    let first = source.git(&["rev-list", "--max-parents=0", "HEAD"]);
    let commits = commits::between(&source.tree(), &first, "HEAD").unwrap();
    assert_eq!(commits.len(), COMMITS);
    let builder = source.builder();
    let mut bisection = Bisection::among(commits.len());
    while let Some(at) = bisection.next().unwrap() {
        let revision = commits[at].id.clone();
        let commit = SourceSpec::Commit { directory: source.tree(), revision };
        let verdict = match builder.build(&Request { source: commit, ..source.request(&[]) }, &mut |_| {}) {
            Ok(built) if image(&built).contains("slow path") => Verdict::Bad,
            Ok(_) => Verdict::Good,
            Err(error) if error.is_of_source() => Verdict::Untestable,
            Err(error) => panic!("{error}"),
        };
        bisection.record(at, verdict);
    }
    let found = bisection.found();
    let subject = |at: usize| commits[at].subject.clone();
    (subject(found.last_good), subject(found.first_bad), found.untestable.len(), source.compilations())
}

#[test]
fn a_commit_planted_among_thirty_is_found() {
    let (good, bad, untestable, compilations) = search(&repository(17, None));
    assert_eq!((good.as_str(), bad.as_str(), untestable), ("change 16", "change 17", 0));
    assert!(compilations <= 7, "{compilations}");
}

#[test]
fn a_commit_that_cannot_be_built_next_to_it_is_reported() {
    let (good, bad, untestable, _) = search(&repository(17, Some(16)));
    assert_eq!((good.as_str(), bad.as_str(), untestable), ("change 15", "change 17", 1));
}

#[test]
fn commits_that_are_not_in_one_line_are_refused() {
    let source = FakeSource::new();
    let first = source.commit("one");
    let second = source.commit("two");
    let error = commits::between(&source.tree(), &second, &first).unwrap_err().to_string();
    assert!(error.contains("is not an ancestor of"), "{error}");
    assert!(matches!(commits::between(&source.tree(), "x", "HEAD"), Err(BuildError::NoCommit { .. })));
    let all = commits::between(&source.tree(), &first, &second).unwrap();
    assert_eq!(all.iter().map(|commit| commit.subject.as_str()).collect::<Vec<_>>(), ["one", "two"]);
}

/// Twenty options, of which those of `planted` make the kernel bad together.
fn search_options(planted: &[usize]) -> (Vec<String>, usize) {
    let source = FakeSource::new();
    let mut kconfig = "config EXPERT\n\tbool \"Options for experts\"\n".to_owned();
    for number in 0..20 {
        let _ = write!(
            kconfig,
            "config OPTION_{number}\n\tbool \"Option {number}\"\nconfig FOLLOWS_{number}\n\tbool\n"
        );
    }
    source.write("Kconfig", &kconfig);
    let all: Vec<String> =
        (0..20).flat_map(|n| [format!("OPTION_{n}=y"), format!("FOLLOWS_{n}=y")]).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let [good, bad] = [&[][..], &all].map(|settings| {
        let built = source.build(settings).unwrap();
        Original::find(&source.store.cache, Arch::X86_64, built.kernel.short_key()).unwrap()
    });
    assert!(good.has_source_of(&bad));
    let differences = good.differences(&bad, &source.store, &mut |_| {}).unwrap();
    assert_eq!(differences.len(), 20, "options without a prompt are left out");
    let found = delta::minimise(differences.len(), |set| -> Result<Verdict, EndError> {
        let settings: Vec<Setting> = set.iter().map(|at| differences[*at].to.clone()).collect();
        let built = good.variant(&source.builder(), &settings, false, &mut |_| {}).unwrap();
        let image = image(&built);
        // The two ends of a word, because OPTION_1 is a part of OPTION_17.
        let is_in = |number: &usize| image.contains(&format!("CONFIG_OPTION_{number}=y\0"));
        Ok(if planted.iter().all(is_in) { Verdict::Bad } else { Verdict::Good })
    });
    let found = found.unwrap().into_iter().map(|at| differences[at].change().to_string()).collect();
    (found, source.compilations())
}

#[test]
fn an_option_planted_among_twenty_is_found() {
    let (found, compilations) = search_options(&[13]);
    assert_eq!(found, ["OPTION_13=y instead of OPTION_13=n"]);
    assert!(compilations <= 14, "{compilations}");
}

#[test]
fn options_that_are_bad_only_together_are_found_together() {
    let (found, _) = search_options(&[3, 13]);
    assert_eq!(found, ["OPTION_13=y instead of OPTION_13=n", "OPTION_3=y instead of OPTION_3=n"]);
}
