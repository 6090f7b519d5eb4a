//! Switches on the real kernel.

mod machine;

use crate::guests;
use machine::Machinery;

#[test]
fn explore() {
    let Some(guests) = guests::directory() else { return };
    let script = std::fs::read_to_string(std::env::var("EXPLORE").unwrap()).unwrap();
    let modules = std::env::var("EXPLORE_MODULES").unwrap_or_default();
    let modules: Vec<&'static str> = modules.split_whitespace().map(|m| -> &'static str { m.to_owned().leak() }).collect();
    let mut m = Machinery { modules, ..Machinery::default() };
    if let Ok(dir) = std::env::var("EXPLORE_FILES") {
        for e in std::fs::read_dir(dir).unwrap().flatten() {
            m.files.push((e.file_name().to_string_lossy().into_owned(), std::fs::read_to_string(e.path()).unwrap()));
        }
    }
    let _ = m.run(&guests, &script);
}
