//! Facts of the machine on which the test runs.

use tardy_host::facts::{SystemAnswers, collect};
use tardy_record::facts::Facts;
use tardy_sys::kernel_files::KernelFiles;

#[test]
fn this_machine_has_facts_and_they_survive_the_run_file() {
    let facts = collect(&KernelFiles::real(), &SystemAnswers::ask());
    for row in facts.rows() {
        println!("{:11} {:26} {}  [{}]", row.section, row.name, row.value, row.how);
    }
    println!("{}", facts.headline());
    assert!(facts.kernel.release.get().is_some());
    let real_time = &facts.kernel.real_time;
    assert!(real_time.get().is_some(), "uname -v is always evidence: {}", real_time.how);
    let text = serde_json::to_string(&facts).unwrap();
    assert_eq!(serde_json::from_str::<Facts>(&text).unwrap(), facts);
}
