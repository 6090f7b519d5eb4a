//! Writes the made-up runs that the other tests read: `cargo test -p tardy-present --test bless -- --ignored`.

#[path = "recorded/hash.rs"]
mod hash;
mod made;

#[test]
#[ignore = "writes tests/runs; run it after a change of the run file's format"]
fn runs() {
    for (name, run) in made::all() {
        tardy_record::file::check(&run).unwrap_or_else(|error| panic!("{name}: {error}"));
        std::fs::write(format!("tests/runs/{name}.run.json"), tardy_record::file::to_text(&run)).unwrap();
    }
}

/// Writes the hashes of the report's style and script.
#[test]
#[ignore = "writes templates/*.sha256; run it after a change of the style or the script"]
fn hashes() {
    use tardy_present::report::{SCRIPT, STYLE};
    std::fs::write("templates/report.css.sha256", hash::of(STYLE) + "\n").unwrap();
    std::fs::write("templates/report.js.sha256", hash::of(SCRIPT) + "\n").unwrap();
}

/// Writes every plot to target/gallery, to be looked at.
#[test]
#[ignore = "writes target/gallery, for people to look at"]
fn gallery() {
    use tardy_present::plot::{self, Options, curve};
    let target = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/gallery");
    std::fs::create_dir_all(&target).unwrap();
    let write = |name: String, text: String| std::fs::write(target.join(name), text).unwrap();
    for (name, run) in made::all() {
        for width in [860.0, 360.0] {
            let options = Options { width, limit_ns: run.plan.limit_ns, ..Options::default() };
            write(format!("latency-{name}-{width}.svg"), plot::latency_svg(&[&run], &options));
            write(
                format!("exceedance-{name}-{width}.svg"),
                plot::exceedance::draw("e", &curve::curves(&[&run]), &options),
            );
            write(format!("timeline-{name}-{width}.svg"), plot::timeline::draw("t", &run, &options));
            if let Some(heat) = plot::heat::draw("h", &run, &options) {
                write(format!("heat-{name}-{width}.svg"), heat);
            }
        }
    }
}

/// Writes every report to target/gallery, to be looked at.
#[test]
#[ignore = "writes target/gallery, for people to look at"]
fn reports() {
    use tardy_analyse::findings::Options;
    let target = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/gallery");
    std::fs::create_dir_all(&target).unwrap();
    let write = |name: &str, text: String| std::fs::write(target.join(format!("{name}.html")), text).unwrap();
    for (name, run) in made::all() {
        write(name, tardy_present::report::html(&[&run], &Options::default()));
    }
    let (standard, rt) = (made::standard(), made::rt());
    write("standard-rt", tardy_present::report::html(&[&standard, &rt], &Options::default()));
}
