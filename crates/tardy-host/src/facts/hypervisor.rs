//! Whether the machine is virtual, and under which hypervisor.

use tardy_record::facts::{Clock, Fact};
use tardy_sys::kernel_files::KernelFiles;

const CPUINFO: &str = "/proc/cpuinfo";
const TREE: &str = "/proc/device-tree";

/// Texts in DMI, the device tree or the clock sources, in lower case, and the hypervisor that each identifies.
const NAMES: [(&str, &str); 14] = [
    ("vmware", "VMware"),
    ("virtualbox", "VirtualBox"),
    ("innotek", "VirtualBox"),
    ("parallels", "Parallels"),
    ("hyperv", "Hyper-V"),
    ("microsoft corporation virtual", "Hyper-V"),
    ("xen", "Xen"),
    ("bhyve", "bhyve"),
    ("amazon ec2", "KVM (Amazon EC2)"),
    ("google compute engine", "KVM (Google Compute Engine)"),
    ("kvm", "KVM"),
    ("openstack", "KVM (OpenStack)"),
    ("qemu", "QEMU"),
    ("dummy-virt", "QEMU"),
];

/// Finds the hypervisor; `none` only on evidence of bare metal.
pub(super) fn find(files: &KernelFiles, clock: &Clock) -> Fact<String> {
    let flag = cpu_flag(files);
    match (name(files, clock), flag) {
        (Some((name, how)), _) => Fact::known(name, how),
        (None, Some(true)) => Fact::known("unnamed".to_owned(), format!("flag hypervisor in {CPUINFO}")),
        (None, Some(false)) => Fact::known("none".to_owned(), format!("no flag hypervisor in {CPUINFO}")),
        (None, None) if files.exists(&format!("{TREE}/model")) => {
            Fact::known("none".to_owned(), format!("{TREE} describes a board without a hypervisor"))
        }
        (None, None) => {
            Fact::unknown(format!("no flags in {CPUINFO}, no {TREE}, no /sys/hypervisor, no DMI"))
        }
    }
}

/// The x86 CPUID flag that every hypervisor sets unless it hides itself.
fn cpu_flag(files: &KernelFiles) -> Option<bool> {
    let text = files.text(CPUINFO).ok()?;
    let flags =
        text.lines().find_map(|line| line.strip_prefix("flags")?.split_once(':').map(|(_, flags)| flags))?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

fn name(files: &KernelFiles, clock: &Clock) -> Option<(String, String)> {
    let dmi = ["sys_vendor", "product_name", "bios_vendor"]
        .map(|field| files.text(&format!("/sys/class/dmi/id/{field}")).unwrap_or_default())
        .join(" ");
    let sources = clock.available.get().map(|sources| sources.join(" ")).unwrap_or_default();
    let text = |path: &str| files.text(path).unwrap_or_default().replace('\0', " ");
    // Xen's first domain runs on the hypervisor too, and its DMI data are the machine's.
    let places = [
        ("/sys/hypervisor/type", text("/sys/hypervisor/type")),
        ("DMI", dmi),
        ("/proc/device-tree/hypervisor", text("/proc/device-tree/hypervisor/compatible")),
        ("/proc/device-tree/compatible", text("/proc/device-tree/compatible")),
        ("the available clock sources", sources),
    ];
    places.into_iter().find_map(|(how, text)| {
        let text = text.to_lowercase();
        NAMES
            .iter()
            .find(|(part, _)| text.contains(part))
            .map(|(_, name)| ((*name).to_owned(), how.to_owned()))
    })
}
