//! The report in a real browser: every plot is visible, nothing is refused, and the console is silent.
//!
//! Without Chromium the tests report that they are skipped and pass, except in CI.

mod recorded;

use std::path::Path;
use std::process::Command;

use recorded::run;
use tardy_analyse::findings;
use tardy_present::report::{self, Chapter};

/// Finds the plots of the page, moves the pointer over each, and writes the result into the title.
const QUESTIONS: &str = r#"<script>
const seen = [...document.querySelectorAll("svg")].map((svg) => {
  const box = svg.getBoundingClientRect();
  const shown = box.width > 200 && box.height > 100;
  if (!shown) return svg.id + "=hidden";
  svg.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width / 2, clientY: box.top + 60 }));
  const readout = svg.querySelector(".readout text");
  return svg.id + "=" + (readout && !readout.textContent.includes("NaN") ? "shown" : "mute");
});
const wide = document.documentElement.scrollWidth <= window.innerWidth ? "fits" : "too wide";
document.title = "FOUND " + wide + " " + seen.join(" ");
</script>"#;

struct Browser {
    program: &'static str,
}

impl Browser {
    fn find() -> Option<Self> {
        let there = |program: &&str| {
            Command::new(program).arg("--version").output().is_ok_and(|out| out.status.success())
        };
        let found =
            ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|program| there(program));
        if found.is_none() {
            assert!(std::env::var_os("CI").is_none(), "CI needs chromium: install the package chromium");
            eprintln!("skipped: chromium is not installed");
        }
        found.map(|program| Self { program })
    }

    /// The page's DOM after its scripts, and what the browser logged.
    fn open(&self, page: &Path, width: u32) -> (String, String) {
        let profile = tempfile::tempdir().unwrap();
        let output = Command::new(self.program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom"])
            .arg(format!("--window-size={width},2000"))
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("file://{}", page.display()))
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    }
}

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
    // The policy of the page would refuse the test's own script.
    let (before, policy) = html.split_once("<meta http-equiv").expect("the page has a policy");
    let open = format!("{before}{}", policy.split_once('>').expect("it ends").1)
        .replace("</body>", &format!("{QUESTIONS}</body>"));
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
