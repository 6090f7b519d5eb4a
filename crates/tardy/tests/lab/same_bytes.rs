//! `tardy lab verify`: the same recipe gives the same bytes every time. That another seed gives others is in `runs.rs`.

use std::path::Path;

use tardy_record::Run;

use crate::guests;
use crate::own_modules;

/// Rounds of the long test, of four boots for every three. `make test` does a twentieth of them.
const ROUNDS: u32 = 60;
const TWENTIETH: u32 = 20;
const KERNEL: &str = "debian:6.12-rt";

/// Every load that needs neither a compiler nor a package, and what only `[lab]` brings into a guest: a tool and, if it can
/// be built here, a module that is loaded once the guest is at rest.
fn recipe(place: &Path) -> std::path::PathBuf {
    let module = if own_modules::are_there() {
        "modules_at_rest = [\"tardy_disturb how=hardirq hold_us=400 every_us=9700\"]\n"
    } else {
        ""
    };
    let text = format!(
        r#"
about = "Every built-in load in a guest."
[run]
duration = "60ms"
warmup = "20ms"
[timer]
interval = "1ms"
dither = "100us"
[[phase]]
name = "no load"
load = ["none"]
[[phase]]
name = "this machine"
load = ["scheduler:2,3,64", "cpu", "memory:1", "io:/run", "fork", "timers:4", "signals", "ipi"]
[[phase]]
name = "its network"
load = ["net", "ping-flood"]
[[phase]]
name = "a tool"
load = ["cmd:exec yes > /dev/null"]
[lab]
tools = ["busybox-static:/bin/busybox"]
{module}"#
    );
    let path = place.join("loads.toml");
    std::fs::write(&path, text).unwrap();
    path
}

/// Verifies the recipe in `rounds` rounds: alone, next to another guest, and with a busy loop on its CPU. Returns the
/// first run.
fn verified(guests: &Path, place: &Path, rounds: u32) -> Run {
    let mut lab = guests::lab(guests, "x86_64", "verify");
    lab.arg(recipe(place))
        .args(["--kernel", KERNEL, "--rounds", &rounds.to_string(), "-o"])
        .arg(place.join("verify"));
    let shown = guests::text_of(&guests::expect(lab, 0));
    let verdict = format!("{} boots in {rounds} rounds, the same bytes every time", rounds / 3 * 4);
    assert!(shown.contains(&verdict), "{shown}");
    guests::run(&place.join("verify/debian-6.12-rt.run.json"))
}

#[test]
fn a_recipe_is_the_same_to_the_byte() {
    let Some(guests) = guests::directory() else { return };
    let place = tempfile::tempdir().unwrap();
    let run = verified(&guests, place.path(), ROUNDS / TWENTIETH);
    assert!(run.validity.valid, "{:?}", run.validity);
    assert_eq!(run.loads.len(), 11);
    for part in run.loads.iter().filter(|load| !load.spec.starts_with("cmd:")).flat_map(|load| &load.parts) {
        assert!(part.done.last() > part.done.first(), "{}", part.name);
    }
    if own_modules::are_there() {
        let worst_ns =
            run.series.iter().filter(|series| series.phase == 0).filter_map(|series| series.max_ns).max();
        // How much of that a wake-up meets depends on when the module begins, and so on the guest. Without it none is so late.
        assert!(worst_ns > Some(200_000), "the module takes the CPU for 400 us: {worst_ns:?}");
    }
}

#[test]
#[ignore = "80 boots; the test above has four of them. `make long-tests` runs it"]
fn long_a_recipe_is_the_same_to_the_byte() {
    let Some(guests) = guests::directory() else { return };
    let place = tempfile::tempdir().unwrap();
    verified(&guests, place.path(), ROUNDS);
}
