"""tardy's timer probe beside Debian's cyclictest where time is counted in instructions: in QEMU with -icount.

Usage: in_emulator.py TARDY KERNEL       (TARDY: a static binary, as `make dist` builds it; KERNEL: a vmlinuz for x86_64.
                                          Needs cyclictest, qemu-system-x86_64 and cpio; no privileges.)

An instruction takes 2 ns of the guest's time, the kernel's included, and nothing else takes any: no cache, no other guest,
no host. So a difference of 1 % is a difference, and the next run shows it again. The guest is an initramfs with both
tools, the libraries that they need, and a shell. One emulated CPU, since several would take turns on one counter.

- CPU time a cycle is the kernel's run time of the measuring thread over its voluntary switches, between 3 s and 11 s
  after the tool's start.
- The median is that of the tool's histogram; cyclictest's is interpolated within its bin of a whole us.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from against_cyclictest import cyclictest_bins, quantile, tardy_bins

INTERVALS_US = (1000, 200)
PROGRAMS = ("sh", "mount", "mkdir", "sleep", "cat", "grep", "cyclictest")
QEMU = ["qemu-system-x86_64", "-M", "pc", "-m", "512", "-nodefaults", "-net", "none", "-no-reboot", "-display", "none",
        "-cpu", "max,-rdrand,-rdseed", "-icount", "shift=1,sleep=off,align=off", "-rtc", "base=2020-01-01,clock=vm",
        "-append", "console=ttyS0 quiet nokaslr randomize_kstack_offset=off cryptomgr.notests panic=-1"]
SCRIPT = """#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir /dev/shm
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
exec >/dev/ttyS0 2>&1 </dev/null
# Each SCHED_FIFO thread of a program, which has memory as the kernel's own have not.
look() {
    for task in /proc/[0-9]*/task/[0-9]*; do
        set -- $(cat $task/stat)
        [ "${41}" = 1 ] && [ "${23}" != 0 ] && echo "@look $task $(cat $task/schedstat) $(grep ^voluntary $task/status)"
    done
}
measure() {
    echo "@measure $1"
    shift
    "$@" >/tmp/out 2>&1 &
    sleep 3
    look
    sleep 8
    look
    wait
    cat /tmp/out
}
sleep 4
"""
POWER_OFF = "echo o >/proc/sysrq-trigger\nsleep 60\n"


def script() -> str:
    lines = [SCRIPT]
    for interval in INTERVALS_US:
        lines.append(f"measure cyclictest-{interval} cyclictest -m -t1 -a0 -p90 -i{interval} -h400 -q -D12\n")
        lines.append(f"measure tardy-{interval} tardy run -q --force --cpus 0 --priority 90 --interval {interval}us "
                     "--warmup 0s --duration 12s -o /tmp/r.run.json\n")
        lines.append("cat /tmp/r.run.json\n")
    return "".join([*lines, POWER_OFF])


def libraries(program: str) -> list[str]:
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return [word for word in listed.split() if word.startswith("/")]


def make_guest(tardy: str, place: Path) -> Path:
    root = place / "root"
    for directory in ("proc", "sys", "dev", "tmp", "bin"):
        (root / directory).mkdir(parents=True)
    for program in PROGRAMS:
        found = shutil.which(program) or sys.exit(f"{program} is not installed")
        shutil.copy(found, root / "bin" / program)
        for library in libraries(found):
            (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, root / library[1:])
    shutil.copy(tardy, root / "bin" / "tardy")
    init = root / "init"
    init.write_text(script())
    init.chmod(0o755)
    names = "\n".join(sorted(str(path.relative_to(root)) for path in root.rglob("*")))
    archive = place / "initramfs"
    with archive.open("wb") as output:
        subprocess.run(["cpio", "--create", "--format=newc", "--quiet"], cwd=root, input=names.encode(), stdout=output, check=True)
    return archive


def run_guest(kernel: str, archive: Path, place: Path) -> str:
    console = place / "console"
    subprocess.run([*QEMU, "-serial", f"file:{console}", "-kernel", kernel, "-initrd", str(archive)], check=True, timeout=900)
    return console.read_text(errors="replace").replace("\r", "")


def cpu_ns_per_cycle(text: str) -> float:
    looks: dict[str, list[tuple[int, int]]] = {}
    for line in text.splitlines():
        if line.startswith("@look "):
            fields = line.split()
            looks.setdefault(fields[1], []).append((int(fields[2]), int(fields[6])))
    pairs = [(last[0] - first[0], last[1] - first[1]) for first, last in (seen for seen in looks.values() if len(seen) == 2)]
    used = [(run_ns, switches) for run_ns, switches in pairs if switches > 100]
    assert len(used) == 1, f"not one measuring thread: {pairs}\n{text[:2000]}"
    return used[0][0] / used[0][1]


def median_ns(tool: str, text: str, place: Path) -> float:
    if tool == "cyclictest":
        return quantile(cyclictest_bins(text), 0.5)
    run = place / "run.json"
    run.write_text(next(line for line in text.splitlines() if line.startswith("{")))
    return quantile(tardy_bins(str(run)), 0.5)


def main() -> None:
    tardy, kernel = sys.argv[1:]
    print("| | tardy | cyclictest | tardy / cyclictest |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        text = run_guest(kernel, make_guest(tardy, place), place)
        parts = {part.split("\n", 1)[0]: part for part in text.split("@measure ")[1:]}
        for interval in INTERVALS_US:
            seen = {tool: (cpu_ns_per_cycle(part), median_ns(tool, part, place))
                    for tool in ("tardy", "cyclictest") for part in [parts[f"{tool}-{interval}"]]}
            for row, label in enumerate(("CPU time a cycle", "median latency")):
                ours, theirs = seen["tardy"][row] / 1e3, seen["cyclictest"][row] / 1e3
                print(f"| {interval} us: {label}, us | {ours:.2f} | {theirs:.2f} | {ours / theirs:.3f} |")


if __name__ == "__main__":
    main()
