//! Invalid tables: every message names the line.

use tardy_synthesis::read::tsnkit::read;

use crate::instances::FIXTURES;

const TASK: &str = "stream,src,dst,size,period,deadline,jitter\n0,8,[9],100,1000000,100000,0\n1,9,\"[8, 10]\",200,2000000,200000,0\n";
const TOPOLOGY: &str = "link,q_num,rate,t_proc,t_prop\n\"(8, 0)\",8,1,2000,0\n\"(0, 8)\",8,1,2000,0\n\"(9, 0)\",8,1,2000,0\n\
                        \"(0, 9)\",8,1,2000,0\n\"(0, 10)\",8,1,2000,0\n\"(10, 0)\",8,1,2000,0\n\"(20, 21)\",8,1,2000,0\n";

#[test]
fn valid_tables_are_read() {
    let tables = read(TASK, TOPOLOGY, 0).unwrap();
    assert_eq!(tables.streams, [0, 1]);
    assert_eq!(tables.instance.hyperperiod_ns, 2_000_000);
    assert_eq!(tables.instance.flows[1].destinations.len(), 2);
    assert_eq!(tables.instance.link_name(0), "8→0");
    for (name, task, topology) in FIXTURES {
        assert!(read(task, topology, 0).is_ok(), "{name}");
    }
}

#[test]
fn an_invalid_table_is_reported_with_its_line() {
    let replaced = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    let task = |from, to| (replaced(TASK, from, to), TOPOLOGY.to_owned());
    let topology = |from, to| (TASK.to_owned(), replaced(TOPOLOGY, from, to));
    let cases = [
        task("period", "cycle"),
        task("[9]", "9"),
        task("[9]", "[]"),
        task("[9]", "[77]"),
        task("[9]", "[8]"),
        task("0,8", "0,77"),
        task("\n1,", "\n0,"),
        task("100,1000000", "-100,1000000"),
        task("100,1000000", "0,1000000"),
        task("1000000", "0"),
        task("1000000", "700"),
        task("1000000", "999983"),
        task("2000000", "86400000000000"),
        task("[9]", "[21]"),
        topology("\"(0, 9)\",8,1,2000,0\n", ""),
        topology("(20, 21)", "(0, 9)"),
        topology("(20, 21)", "(20; 21)"),
        topology("(20, 21)", "(20, 20)"),
        topology("8,1,2000", "8,0,2000"),
        topology("8,1,2000", "17,1,2000"),
        topology("8,1,2000", "8,1,fast"),
        (TASK.to_owned(), "link,q_num,rate,t_proc,t_prop\n".to_owned()),
        (TASK.to_owned(), String::new()),
    ];
    let mut golden = String::new();
    for (task, topology) in &cases {
        let error = read(task, topology, 0).expect_err(task);
        golden += &format!("{:?}, {error}\n", error.source);
    }
    insta::assert_snapshot!(golden);
}
