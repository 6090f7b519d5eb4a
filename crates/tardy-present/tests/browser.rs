//! Opens a page in Chromium.

use std::path::Path;
use std::process::Command;

/// Chromium without a window.
pub(crate) struct Browser {
    program: &'static str,
}

impl Browser {
    /// `None` if it is not installed, except in CI.
    pub(crate) fn find() -> Option<Self> {
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
    pub(crate) fn open(&self, page: &Path, width: u32) -> (String, String) {
        self.open_with(page, width, &[])
    }

    /// The same, with further options of the browser.
    pub(crate) fn open_with(&self, page: &Path, width: u32, options: &[&str]) -> (String, String) {
        let profile = tempfile::tempdir().unwrap();
        let output = Command::new(self.program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom"])
            .args(options)
            .arg(format!("--window-size={width},2000"))
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("file://{}", page.display()))
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    }
}

impl Browser {
    /// The number of pages of A4 that the page prints on.
    pub(crate) fn printed_pages(&self, page: &Path) -> usize {
        let directory = tempfile::tempdir().unwrap();
        let pdf = directory.path().join("printed.pdf");
        // Chromium's paper is that of the locale; its default, letter, is 18 mm shorter than A4.
        let print = format!("--print-to-pdf={}", pdf.display());
        self.open_with(page, 1200, &["--no-pdf-header-footer", &print]);
        let bytes = std::fs::read(&pdf).expect("the page is printed");
        String::from_utf8_lossy(&bytes).matches("/Type /Page\n").count()
    }
}

/// `page` with a further script at its end, and without the policy that would refuse it.
pub(crate) fn with_script(page: &str, script: &str) -> String {
    let (before, policy) = page.split_once("<meta http-equiv").expect("the page has a policy");
    let open = format!("{before}{}", policy.split_once('>').expect("it ends").1);
    open.replace("</body>", &format!("<script>{script}</script></body>"))
}
