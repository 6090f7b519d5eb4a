//! Switches on the real kernel.

mod classifiers;
mod healing;
mod lifecycle;
mod lists;
mod machine;
mod openvswitch;
mod refusals;
mod replacement;
mod slots;

use crate::guests;
use machine::Guest;

#[test]
fn explore() {
    let Some(guests) = guests::directory() else { return };
    let script = std::fs::read_to_string(std::env::var("EXPLORE").unwrap()).unwrap();
    let modules = std::env::var("EXPLORE_MODULES").unwrap_or_default();
    let modules: Vec<&'static str> = modules.split_whitespace().map(|m| -> &'static str { m.to_owned().leak() }).collect();
    let tools = std::env::var("EXPLORE_TOOLS").unwrap_or_default();
    let tools = tools.split_whitespace().map(|m| -> (&'static str, &'static str) { let (a, b) = m.split_once(':').unwrap(); (a.to_owned().leak(), b.to_owned().leak()) }).collect();
    let mut m = Guest { modules, tools, ..Guest::default() };
    if let Ok(dir) = std::env::var("EXPLORE_FILES") {
        for e in std::fs::read_dir(dir).unwrap().flatten() {
            m.files.push((e.file_name().to_string_lossy().into_owned(), std::fs::read_to_string(e.path()).unwrap()));
        }
    }
    let said = m.run(&guests, &script);
    println!("{}", said.text());
}
