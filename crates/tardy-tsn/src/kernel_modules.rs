//! What of the kernel a switch is made of.

/// The kernel's modules for links, bridge, VLANs, classifiers and shapers, and for talkers of a test: a machine loads them
/// when they are asked for, and a guest that cannot has to be given them.
pub const KERNEL_MODULES: [&str; 12] = [
    "veth",
    "tun",
    "bridge",
    "8021q",
    "nf_tables",
    "nft_meta_bridge",
    "sch_taprio",
    "sch_etf",
    "sch_tbf",
    "sch_ingress",
    "cls_flower",
    "act_skbedit",
];
