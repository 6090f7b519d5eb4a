//! The kernel modules that a switch needs.

/// Modules for links, bridge, VLANs, classifiers and shapers, and for the talkers of a test. A machine loads them on
/// demand; a guest that cannot must be given them.
pub const KERNEL_MODULES: [&str; 13] = [
    "veth",
    "tun",
    "bridge",
    "8021q",
    "nf_tables",
    "nft_meta_bridge",
    "sch_taprio",
    "sch_etf",
    "sch_cbs",
    "sch_tbf",
    "sch_ingress",
    "cls_flower",
    "act_skbedit",
];
