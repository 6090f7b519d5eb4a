//! Writes the made-up runs that the other tests read: `cargo test -p tardy-present --test bless -- --ignored`.

mod made;

#[test]
#[ignore = "writes tests/runs; run it after a change of the run file's format"]
fn runs() {
    for (name, run) in made::all() {
        tardy_record::file::check(&run).unwrap_or_else(|error| panic!("{name}: {error}"));
        std::fs::write(format!("tests/runs/{name}.run.json"), tardy_record::file::to_text(&run)).unwrap();
    }
}
