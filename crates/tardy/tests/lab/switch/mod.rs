//! Switches on the real kernel: what it refuses, setting up and removing, lists of all lengths, classifiers, what stops the
//! gates, and replacing a schedule.
//!
//! Each test reads what one scene printed (`scripted.rs`). Scenes share two boots, and each has its own network
//! namespaces. Frames come from the kernel's generator (pktgen); its trace shows when and by which queue they leave.
//! `network.sh` has what the scripts share.

mod children;
mod classifiers;
mod healing;
mod lifecycle;
mod lists;
mod openvswitch;
mod ptp;
mod refusals;
mod replacement;
mod slots;
pub(crate) mod three_switches;

use tardy_tsn::kernel_modules::KERNEL_MODULES;

use crate::scripted::{Place, Scene, SharedBoot, Tool};

const KERNEL: &str = "debian:6.12-rt";
/// The kernel's frame generator.
const SENDER_MODULE: &str = "pktgen";
/// Programs that every scene about a switch may use.
const TOOLS: [Tool; 4] = [
    ("iproute2", "/sbin/ip"),
    ("iproute2", "/sbin/tc"),
    ("iproute2", "/sbin/bridge"),
    ("nftables", "/usr/sbin/nft"),
];
/// A switch with a shaper and a classifier by UDP port.
pub(crate) const TWO_FLOWS: &str = include_str!("two-flows.toml");
/// A switch with bridge, VLANs, shaper and a classifier by priority tag.
pub(crate) const PRIORITY_TAGS: &str = include_str!("priority-tags.toml");

/// Kernel modules that iptables needs to classify, in addition to [`IPTABLES_TOOLS`].
pub(crate) const IPTABLES_MODULES: [&str; 5] =
    ["br_netfilter", "xt_u32", "xt_CLASSIFY", "iptable_mangle", "xt_tcpudp"];
/// iptables and the extensions that it loads.
pub(crate) const IPTABLES_TOOLS: [Tool; 5] = [
    ("iptables", "/usr/sbin/xtables-legacy-multi"),
    ("iptables", "/usr/lib/x86_64-linux-gnu/xtables/libxt_u32.so"),
    ("iptables", "/usr/lib/x86_64-linux-gnu/xtables/libxt_CLASSIFY.so"),
    ("iptables", "/usr/lib/x86_64-linux-gnu/xtables/libxt_udp.so"),
    ("iptables", "/usr/lib/x86_64-linux-gnu/xtables/libxt_standard.so"),
];
const OPEN_VSWITCH: &str = "openvswitch-switch";
/// Open vSwitch's servers and programs.
pub(crate) const OPEN_VSWITCH_TOOLS: [Tool; 4] = [
    (OPEN_VSWITCH, "/usr/sbin/ovsdb-server"),
    (OPEN_VSWITCH, "/usr/lib/openvswitch-switch/ovs-vswitchd"),
    (OPEN_VSWITCH, "/usr/bin/ovsdb-tool"),
    (OPEN_VSWITCH, "/usr/bin/ovs-vsctl"),
];
/// The database's schema.
pub(crate) const OPEN_VSWITCH_DATA: Tool = (OPEN_VSWITCH, "/usr/share/openvswitch/vswitch.ovsschema");

/// Scenes that need the bridge and the shaper.
static BRIDGED: SharedBoot = SharedBoot::new(KERNEL, || {
    let mut scenes = vec![
        // First, while no namespace of an earlier scene is being removed: that work delays requests.
        replacement::scene(),
        children::scene(),
        classifiers::slots_scene(),
        healing::scene(),
        lists::scene(),
        ptp::scene(),
        refusals::scene(),
    ];
    scenes.extend(lifecycle::scenes());
    scenes
});
/// Scenes that need other classifiers or another bridge as well.
static CLASSIFIED: SharedBoot = SharedBoot::new(KERNEL, || {
    let mut scenes = classifiers::scenes();
    scenes.extend([openvswitch::scene(), crate::restore::scene(), crate::pins::crash_scene()]);
    scenes.push(crate::hostile_users::scene());
    // Last, since no other scene is to run on a machine whose clock was set.
    scenes.push(crate::upset::scene());
    scenes
});

/// What a scene of [`CLASSIFIED`] printed.
pub(crate) fn classified(scene: &str) -> Option<&'static crate::scripted::Printed> {
    CLASSIFIED.scene(scene)
}

/// What every scene about a switch needs in the guest.
pub(crate) fn parts() -> Scene {
    Scene {
        modules: KERNEL_MODULES.into_iter().chain([SENDER_MODULE]).collect(),
        tools: TOOLS.to_vec(),
        ..Scene::default()
    }
}

/// A scene about a switch, in its own network namespaces.
pub(crate) fn scene(name: &'static str, script: &str, files: &[(&str, &str)]) -> Scene {
    Scene {
        name,
        script: format!("quiet_network\n{script}"),
        place: Place::OwnNetwork,
        files: files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect(),
        ..parts()
    }
}

/// The file `text` with Open vSwitch as its bridge.
pub(crate) fn with_open_vswitch(text: &str) -> String {
    let kernels = "name = \"tsn0\"";
    assert!(text.contains(kernels));
    text.replace(kernels, "name = \"tsn0\"\nbridge = \"openvswitch\"")
}
