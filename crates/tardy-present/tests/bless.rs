//! Writes the synthetic runs that the other tests read: `cargo test -p tardy-present --test all bless:: -- --ignored`.

use crate::hash;
use crate::published;
use crate::synthetic;

#[test]
#[ignore = "writes tests/runs; run it after a change of the run file's format"]
fn runs() {
    for (name, run) in synthetic::all() {
        tardy_record::file::check(&run).unwrap_or_else(|error| panic!("{name}: {error}"));
        std::fs::write(format!("tests/runs/{name}.run.json"), tardy_record::file::to_text(&run)).unwrap();
    }
}

/// Writes the hashes of the report's style and script.
#[test]
#[ignore = "writes templates/*.sha256; run it after a change of the style or the script"]
fn hashes() {
    use tardy_present::report::{EXPLANATION, SCRIPT, STYLE, WITH_FORMS};
    std::fs::write("templates/explanation.css.sha256", hash::of(EXPLANATION.style) + "\n").unwrap();
    std::fs::write("templates/explanation.js.sha256", hash::of(EXPLANATION.script) + "\n").unwrap();
    std::fs::write("templates/form.css.sha256", hash::of(WITH_FORMS.style) + "\n").unwrap();
    std::fs::write("templates/report.css.sha256", hash::of(STYLE) + "\n").unwrap();
    std::fs::write("templates/report.js.sha256", hash::of(SCRIPT) + "\n").unwrap();
}

/// Writes every plot to target/gallery, for inspection.
#[test]
#[ignore = "writes target/gallery, for inspection"]
fn gallery() {
    use tardy_plot::{self as plot, Options, curve};
    let target = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/gallery");
    std::fs::create_dir_all(&target).unwrap();
    let write = |name: String, text: String| std::fs::write(target.join(name), text).unwrap();
    for (name, run) in synthetic::all() {
        for width in [860.0, 360.0] {
            let options = Options { width, limit_ns: run.plan.limit_ns, ..Options::default() };
            write(
                format!("latency-{name}-{width}.svg"),
                tardy_present::plot_file::histogram(&[&run], &options),
            );
            write(
                format!("exceedance-{name}-{width}.svg"),
                plot::exceedance::draw("e", &curve::curves(&[&run]), &options),
            );
            write(
                format!("timeline-{name}-{width}.svg"),
                plot::timeline::draw("t", &run, "highest latency", &options),
            );
            let flows = tardy_analyse::flows::of(&run);
            if let Some(cycle) = plot::cycle::draw("c", &run, &flows, &options) {
                write(format!("cycle-{name}-{width}.svg"), cycle);
            }
            if let Some(drift) = plot::drift::draw("d", &run, &flows, &options) {
                write(format!("drift-{name}-{width}.svg"), drift);
            }
            if let Some(heat) = plot::heat::draw("h", &run, &options) {
                write(format!("heat-{name}-{width}.svg"), heat);
            }
        }
    }
}

/// Writes every report to target/gallery, for inspection.
#[test]
#[ignore = "writes target/gallery, for inspection"]
fn reports() {
    use tardy_analyse::findings::Options;
    use tardy_present::report::Chapter;
    let target = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/gallery");
    std::fs::create_dir_all(&target).unwrap();
    let write = |name: &str, text: String| std::fs::write(target.join(format!("{name}.html")), text).unwrap();
    for (name, run) in synthetic::all() {
        write(name, tardy_present::report::html(&[&run], &Options::default()));
    }
    for cpus in [64, 128, 256] {
        let many = synthetic::many_cpus::many_cpus(cpus, 24);
        tardy_record::file::check(&many).unwrap();
        std::fs::write(target.join(format!("many-{cpus}.run.json")), tardy_record::file::to_text(&many))
            .unwrap();
        write(&format!("many-{cpus}"), tardy_present::report::html(&[&many], &Options::default()));
    }
    let (standard, rt) = (synthetic::standard(), synthetic::rt());
    write("standard-rt", tardy_present::report::html(&[&standard, &rt], &Options::default()));
    let published = published::results();
    let options = Options { published: &published, ..Options::default() };
    let (standard, rt, levels) = (synthetic::lab::standard(), synthetic::lab::rt(), synthetic::lab::levels());
    write("lab", tardy_present::report::html(&[&standard, &rt], &options));
    let realtime = synthetic::lab::realtime();
    write("lab-mixed", tardy_present::report::html(&[&standard, &realtime], &options));
    let chapter = |title: &str, about: &str, runs| Chapter { title: title.into(), about: about.into(), runs };
    let chapters = [
        chapter(
            "Raspberry Pi 3",
            "The Raspberry Pi 3 articles: standard against PREEMPT_RT.",
            vec![&standard, &rt],
        ),
        chapter("Levels", "Timer interrupt, wake-up and user thread under doload.", vec![&levels]),
        chapter("In real time", "A functional run.", vec![&realtime, &rt]),
    ];
    write("chapters", tardy_present::report::html_of_chapters(&chapters, &options));
}

/// Writes every kind of plot to target/gallery as PNG and PDF, for inspection.
#[test]
#[ignore = "writes target/gallery, for inspection"]
fn pictures() {
    use tardy_plot::Options;
    use tardy_plot::print::for_print;
    use tardy_present::plot_file::{Kind, Plot};
    let target = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/gallery");
    std::fs::create_dir_all(&target).unwrap();
    let (standard, rt) = (synthetic::standard(), synthetic::rt());
    let many = synthetic::many_cpus::many_cpus(128, 24);
    let runs: [(&str, &[&tardy_record::Run]); 3] =
        [("one", &[&standard]), ("two", &[&standard, &rt]), ("many", &[&many])];
    for (name, runs) in runs {
        for kind in [
            Kind::Histogram,
            Kind::Exceedance,
            Kind::Timeline,
            Kind::Heatmap,
            Kind::Distribution,
            Kind::Compare,
        ] {
            let options = Options { limit_ns: Some(1_000_000), ..Options::default() };
            let Ok(svg) = (Plot { kind, runs, versus: None, title: None, options }).svg() else { continue };
            let path = |ending: &str| target.join(format!("{}-{name}.{ending}", kind.name()));
            std::fs::write(path("svg"), &svg).unwrap();
            std::fs::write(path("png"), tardy_picture::png(&for_print(&svg), 1.5).unwrap()).unwrap();
            std::fs::write(path("pdf"), tardy_picture::pdf(&for_print(&svg)).unwrap()).unwrap();
        }
    }
}
