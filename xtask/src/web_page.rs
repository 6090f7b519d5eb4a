//! Puts the page together: one file of HTML, with its style, its scripts and the module for WebAssembly inside.
//!
//! The policy of the page names its scripts and styles by their hashes, and those of the reports that it shows, since a frame in
//! the page inherits the policy. The module is compressed, and in base64, because a page from a disk cannot read another file.

use std::fs;
use std::io::Write;
use std::num::NonZero;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use zopfli::{Format, Options};

/// The page's parts, from the repository's root.
const PAGE: &str = "crates/tardy-web/page/page.html";
const SCRIPT: &str = "crates/tardy-web/page/page.js";
const WORKER: &str = "crates/tardy-web/page/worker.js";
/// How often zopfli tries to improve; after five times it gains less than 1 in 1,000.
const ITERATIONS: u64 = 5;
/// The plots' style comes first, so that the page can add to it.
const STYLES: [&str; 2] = ["crates/tardy-plot/src/plot.css", "crates/tardy-web/page/style.css"];
/// The hashes of a report's script and style.
const OF_REPORT: [&str; 2] =
    ["crates/tardy-present/templates/report.js.sha256", "crates/tardy-present/templates/report.css.sha256"];

/// Writes the page to `to`, with `module` in it, and prints the size of each part.
///
/// # Errors
/// If a part cannot be read, or the page cannot be written.
pub fn write(root: &Path, module: &Path, to: &Path) -> Result<(), String> {
    let module = fs::read(module).map_err(|error| format!("{}: {error}", module.display()))?;
    let page = made(root, &module)?;
    if let Some(directory) = to.parent() {
        fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    // xtask does not depend on tardy-sys; the path is the caller's.
    fs::write(to, &page).map_err(|error| format!("{}: {error}", to.display()))?;
    println!("{}: {} bytes, {} compressed", to.display(), page.len(), compressed(page.as_bytes())?.len());
    println!("  the module: {} bytes, {} compressed", module.len(), compressed(&module)?.len());
    for part in [PAGE, SCRIPT, WORKER].into_iter().chain(STYLES) {
        let text = read(root, part)?;
        println!("  {part}: {} bytes, {} compressed", text.len(), compressed(text.as_bytes())?.len());
    }
    Ok(())
}

/// The page's text.
fn made(root: &Path, module: &[u8]) -> Result<String, String> {
    let script = read(root, SCRIPT)?;
    let style = STYLES.map(|path| read(root, path)).into_iter().collect::<Result<String, _>>()?;
    let [report_script, report_style] = OF_REPORT.map(|path| read(root, path));
    let policy = policy(&[hash(&script), report_script?], &[hash(&style), report_style?]);
    let module = STANDARD.encode(packed(module)?);
    let page = read(root, PAGE)?;
    let parts = [
        ("{{policy}}", policy),
        ("{{style}}", style),
        ("{{worker}}", read(root, WORKER)?),
        ("{{module}}", module),
        ("{{script}}", script),
    ];
    // A part must not contain the name of another: the last part with free text is the script.
    parts.into_iter().try_fold(page, |page, (name, part)| match page.matches(name).count() {
        1 => Ok(page.replace(name, &part)),
        times => Err(format!("{PAGE}: {name} is there {times} times, and must be there once")),
    })
}

/// What the page may do: run these scripts and the module, and nothing else.
fn policy(scripts: &[String], styles: &[String]) -> String {
    let listed = |hashes: &[String]| {
        hashes.iter().map(|hash| format!("'sha256-{}'", hash.trim())).collect::<Vec<_>>().join(" ")
    };
    format!(
        "default-src 'none'; script-src {} 'wasm-unsafe-eval'; style-src {}; img-src data: blob:; worker-src blob:; \
         connect-src 'none'; form-action 'none'; base-uri 'none'",
        listed(scripts),
        listed(styles)
    )
}

fn hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}

/// What the page unpacks. The same format as of [`compressed`], which servers make, in 4 % fewer bytes for some 25 times the work.
fn packed(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut packed = Vec::new();
    let iterations = NonZero::new(ITERATIONS).expect("it is not 0");
    let options = Options { iteration_count: iterations, ..Options::default() };
    zopfli::compress(options, Format::Gzip, bytes, &mut packed)
        .map_err(|error| format!("cannot compress: {error}"))?;
    Ok(packed)
}

fn compressed(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.map_err(|error| format!("cannot compress: {error}"))
}

fn read(root: &Path, path: &str) -> Result<String, String> {
    fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Repository;

    #[test]
    fn the_page_allows_its_own_scripts_and_those_of_reports_alone() {
        let root = Repository::here().unwrap().root;
        let page = made(&root, b"module").unwrap();
        let policy =
            page.split_once("Content-Security-Policy\" content=\"").unwrap().1.split_once('"').unwrap().0;
        assert_eq!(policy.matches("'sha256-").count(), 4, "{policy}");
        assert!(
            policy.starts_with("default-src 'none'; ") && policy.contains("connect-src 'none'"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"), "{policy}");
        let frame = page.split_once("<iframe ").unwrap().1.split_once('>').unwrap().0;
        assert!(frame.contains("sandbox=\"allow-scripts\""), "a report has no rights of the page: {frame}");
        let script = page.rsplit_once("<script>").unwrap().1.split_once("</script>").unwrap().0;
        assert!(policy.contains(&hash(script)), "the hash is that of the script as the browser sees it");
        let style = page.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
        assert!(policy.contains(&hash(style)));
        assert_eq!(
            page.matches("http").count(),
            page.matches("http-equiv").count(),
            "no address of another place"
        );
    }
}
