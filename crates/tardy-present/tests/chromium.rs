//! The report in a real browser: every plot is visible, nothing is refused, and the console is silent.
//!
//! Without Chromium the tests report that they are skipped and pass, except in CI.

use crate::browser;
use std::path::Path;

use crate::browser::Browser;
use crate::recorded::run;
use tardy_analyse::findings;
use tardy_present::report::{self, Chapter};

/// Finds the plots of the page, moves the pointer over each, and writes the result into the title.
const QUESTIONS: &str = r#"const seen = [...document.querySelectorAll("svg")].map((svg) => {
  const box = svg.getBoundingClientRect();
  const shown = box.width > 200 && box.height > 100;
  if (!shown) return svg.id + "=hidden";
  svg.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width / 2, clientY: box.top + 60 }));
  const readout = svg.querySelector(".readout text");
  return svg.id + "=" + (readout && !readout.textContent.includes("NaN") ? "shown" : "mute");
});
const wide = document.documentElement.scrollWidth <= window.innerWidth ? "fits" : "too wide";
document.title = "FOUND " + wide + " " + seen.join(" ");
"#;

fn pages() -> Vec<(&'static str, String)> {
    let options = findings::Options::default();
    let one = |name| (name, report::html(&[&run(name)], &options));
    let both = report::html(&[&run("standard"), &run("rt")], &options);
    let (base, candidate, alone) = (run("lab-standard"), run("lab-realtime"), run("lab-levels"));
    let chapter = |runs| Chapter { title: "Title".into(), about: "About.".into(), runs };
    let chapters =
        report::html_of_chapters(&[chapter(vec![&base, &candidate]), chapter(vec![&alone])], &options);
    vec![
        one("standard"),
        one("cut-short"),
        one("wakes"),
        one("nothing-yet"),
        one("program"),
        ("standard-rt", both),
        ("chapters", chapters),
    ]
}

#[test]
fn every_plot_is_visible_and_the_console_is_silent() {
    let Some(browser) = Browser::find() else { return };
    let directory = tempfile::tempdir().unwrap();
    for (name, html) in pages() {
        let page = directory.path().join(format!("{name}.html"));
        std::fs::write(&page, &html).unwrap();
        let (dom, log) = browser.open(&page, 1200);
        assert!(dom.contains("</html>"), "{name}: the browser showed nothing: {log}");
        let console: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert!(console.is_empty(), "{name}: {console:?}");
    }
    for width in [1200, 520] {
        plots_are_shown(&browser, directory.path(), width);
    }
}

fn plots_are_shown(browser: &Browser, directory: &Path, width: u32) {
    let html = report::html(&[&run("standard")], &findings::Options::default());
    let open = browser::with_script(&html, QUESTIONS);
    let page = directory.join(format!("asked-{width}.html"));
    std::fs::write(&page, open).unwrap();
    let (dom, log) = browser.open(&page, width);
    let title = dom
        .split_once("<title>")
        .and_then(|(_, rest)| rest.split_once("</title>"))
        .map_or("", |(title, _)| title);
    assert!(title.starts_with("FOUND fits"), "{title}: {log}");
    let (shown, hidden) = if width > 700 { ("wide", "narrow") } else { ("narrow", "wide") };
    for plot in ["latency", "exceedance", "timeline", "heat"] {
        assert!(title.contains(&format!("run1-{plot}-{shown}=shown")), "{plot} at {width}: {title}");
        assert!(title.contains(&format!("run1-{plot}-{hidden}=hidden")), "{plot} at {width}: {title}");
    }
}

/// A class that the style gives to something else lets a table collapse into one line.
#[test]
fn a_table_is_laid_out_as_a_table() {
    const ASKED: &str = r#"const tables = [...document.querySelectorAll("table")];
const wrong = tables.filter((table) => getComputedStyle(table).display !== "table");
document.title = "FOUND " + tables.length + " tables, wrong: " + wrong.map((table) => table.className).join(" ") + ".";
"#;
    let Some(browser) = Browser::find() else { return };
    let directory = tempfile::tempdir().unwrap();
    for (name, html) in pages() {
        let page = directory.path().join(format!("{name}.html"));
        std::fs::write(&page, browser::with_script(&html, ASKED)).unwrap();
        let (dom, log) = browser.open(&page, 1200);
        let title = dom.split_once("<title>FOUND ").map_or("", |(_, rest)| rest.split('<').next().unwrap());
        assert!(title.ends_with(" tables, wrong: .") && !title.starts_with("0 "), "{name}: {title}: {log}");
    }
}

#[test]
fn a_refused_script_is_logged() {
    let Some(browser) = Browser::find() else { return };
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("intruder.html");
    let html = report::html(&[&run("rt")], &findings::Options::default());
    std::fs::write(&page, html.replace("</body>", "<script>document.title = 'gotcha'</script></body>"))
        .unwrap();
    let (dom, log) = browser.open(&page, 1200);
    assert!(!dom.contains("<title>gotcha"), "the page ran a script that its policy does not allow");
    assert!(
        log.lines().any(|line| line.contains("CONSOLE")),
        "a refused script is not logged, so the other test cannot detect one: {log}"
    );
}
