//! Two boots of one guest, which must agree in every byte: what a timer probe, a reaction, a wiggle and a test of a switch
//! record. The first boot's runs serve other tests as well.

use tardy_record::Run;
use tardy_record::run::Origin;

use crate::guests;
use crate::own_modules::KERNELS;
use crate::scripted::{Booted, Printed, Scene, SharedBoot};
use crate::{pins, switch, wiggle};

static FIRST: SharedBoot = SharedBoot::new(KERNELS[1], scenes);
static SECOND: SharedBoot = SharedBoot::new(KERNELS[1], scenes);

/// The article's switch, for a short time.
const FLOWS: &str = "tardy tsn test tsn-two-flows --netns --for 200ms -o /lab/results/flows.run.json\n";
/// Idle and loaded, with deadlines that the seed decides.
const TIMER: &str = "tardy run lab-quick --loops 300 --dither 100us -o /lab/results/timer.run.json\n";

fn scenes() -> Vec<Scene> {
    let timer = Scene { name: "timer", script: TIMER.to_owned(), ..Scene::default() };
    let flows = Scene { name: "flows", script: FLOWS.to_owned(), ..switch::parts() };
    vec![timer, pins::reaction(), wiggle::scene(), flows]
}

/// What a scene of the first boot printed.
pub(crate) fn scene(name: &str) -> Option<&'static Printed> {
    FIRST.scene(name)
}

/// A file without its origin, which names the moment and the process.
fn comparable(name: &str, content: &[u8]) -> String {
    if !name.ends_with(".run.json") {
        return String::from_utf8_lossy(content).into_owned();
    }
    let run = tardy_record::file::from_text(content).unwrap_or_else(|error| panic!("{name}: {error}"));
    tardy_record::file::to_text(&Run { origin: Origin::default(), ..run })
}

/// Names of files that the second boot does not have, or has with other content.
fn differing(first: &Booted, second: &Booted) -> Vec<String> {
    let files = |booted: &Booted| booted.scenes()[0].files.clone();
    let (first, second) = (files(first), files(second));
    assert_eq!(first.len(), second.len());
    type NamedFile = (String, Vec<u8>);
    let differs = |(one, other): (&NamedFile, &NamedFile)| {
        let differs = one.0 != other.0 || comparable(&one.0, &one.1) != comparable(&other.0, &other.1);
        differs.then(|| one.0.clone())
    };
    first.iter().zip(second.iter()).filter_map(differs).collect()
}

#[test]
fn timers_reactions_wiggles_and_switches_are_the_same_to_the_byte() {
    let Some(_) = guests::directory() else { return };
    // Each in a thread, so that they run at the same time if there are enough CPUs.
    let (first, second) = std::thread::scope(|scope| {
        let second = scope.spawn(|| SECOND.booted());
        (FIRST.booted(), second.join().unwrap())
    });
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first.identity, second.identity);
    for scene in first.scenes() {
        let name = &scene.name;
        assert!(FIRST.scene(name).is_some() && SECOND.scene(name).is_some(), "{name}");
        assert_eq!(FIRST.scene(name).unwrap().text(), SECOND.scene(name).unwrap().text(), "{name}");
    }
    assert_eq!(differing(first, second), Vec::<String>::new(), "files that differ");
}
