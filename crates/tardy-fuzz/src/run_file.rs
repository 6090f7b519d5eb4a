//! Run files of any content.

use tardy_analyse::findings;
use tardy_present::summary;
use tardy_record::{file, validity};

/// Parses a run file. What is accepted can be analysed, shown, written and read again, and is shown without control characters.
pub fn read(text: &[u8]) {
    let Ok(mut run) = file::from_text(text) else { return };
    run.validity = validity::judge(&run);
    let findings = findings::of(&run, &findings::Options::default());
    let shown = summary::text(&run, &findings, 100, false);
    assert!(
        !shown.contains(|letter: char| letter.is_control() && letter != '\n'),
        "control characters on a terminal"
    );
    let text = file::to_text(&run);
    file::from_text(text.as_bytes()).expect("a run that was read can be read again");
}
