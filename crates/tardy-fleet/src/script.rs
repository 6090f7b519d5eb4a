//! The scripts that run on hosts, for any POSIX shell: dash, bash, busybox.
//!
//! A script is a single line, because csh does not accept an end of line in quotes. What it reports are lines that begin with
//! [`MARK`], so that what a login shell prints is not taken for an answer. On the host everything is below
//! `DIRECTORY/tardy-fleet-UID`, which only the user can enter: the program as `tardy-SHA256`, and a directory for each run.
//!
//! The log and the exit status of a run are written into files that were filled before: a disk that fills up during the run does
//! not lose them.

use tardy_load::quoted;

use crate::hosts::Host;

/// How a line of an answer begins.
pub const MARK: &str = "tardy-fleet:";
/// The name of the run file in the directory of a run.
const RUN_FILE: &str = "run.run.json";
/// The name of the recipe file there.
pub const RECIPE_FILE: &str = "recipe.toml";
/// Bytes of the log that are allocated before the run.
const LOG_SIZE: usize = 16 * 1024;
/// The exit status before there is one. As long as one, so that it is overwritten in its place.
pub const NO_STATUS: &str = "---";

/// The words of the remote command line that runs `script`: one word for ssh, which joins words by spaces anyway.
pub fn command(host: &Host, script: &str) -> String {
    let sudo = if host.sudo { "sudo -n " } else { "" };
    format!("{sudo}sh -c {}", quoted(script))
}

/// The beginning of each script. `$d` is tardy's directory on the host, `$r` that of the run.
fn with_directories(host: &Host, id: &str, rest: &str) -> String {
    let directory = quoted(&host.directory);
    format!(
        "umask 077; say() {{ printf '{MARK}%s=%s\\n' \"$1\" \"$2\"; }}; \
         free() {{ df -Pk \"$1\" 2>/dev/null | {{ read -r _; read -r _ _ _ a _; echo \"$a\"; }}; }}; \
         d={directory}/tardy-fleet-$(id -u); r=$d/{id}; {rest}"
    )
}

/// Makes tardy's directory and reports the machine, the free space in KiB, the boot, and the programs that are there.
pub fn probe(host: &Host, id: &str) -> String {
    let directory = quoted(&host.directory);
    let rest = format!(
        "say machine \"$(uname -m)\"; say boot \"$(cat /proc/sys/kernel/random/boot_id)\"; \
         [ -d {directory} ] || {{ say missing directory; exit 0; }}; \
         e=$(mkdir -m 700 \"$d\" 2>&1); \
         say free \"$(free {directory})\"; \
         [ -e \"$d\" ] || {{ say refused \"$e\"; exit 0; }}; \
         if [ -L \"$d\" ] || [ ! -d \"$d\" ] || [ ! -O \"$d\" ]; then say foreign \"$d\"; exit 0; fi; \
         chmod 700 \"$d\"; \
         for f in \"$d\"/tardy-*; do [ ! -f \"$f\" ] || say program \"$(sha256sum \"$f\" 2>/dev/null)\"; done; \
         say ready yes"
    );
    with_directories(host, id, &rest)
}

/// Reads the program with this SHA-256 from its standard input and puts it into its place.
pub fn copy(host: &Host, id: &str, sha256: &str, size: u64) -> String {
    let rest = format!(
        "t=$d/.copy-{id}; trap 'rm -f \"$t\"' EXIT; trap 'exit 9' HUP INT TERM PIPE; \
         cat >\"$t\" || {{ say free \"$(free \"$d\")\"; exit 4; }}; chmod 700 \"$t\"; \
         n=$(($(wc -c <\"$t\"))); [ \"$n\" = {size} ] || {{ say size \"$n\"; exit 5; }}; \
         if command -v sha256sum >/dev/null; then s=$(sha256sum <\"$t\"); s=${{s%% *}}; \
         [ \"$s\" = {sha256} ] || {{ say sha256 \"$s\"; exit 5; }}; fi; \
         mv -f \"$t\" \"$d/tardy-{sha256}\" && say copied yes"
    );
    with_directories(host, id, &rest)
}

/// Makes the directory of a run with the recipe from the standard input, and tries the program.
pub fn prepare(host: &Host, id: &str, sha256: &str) -> String {
    let rest = format!(
        "mkdir -p \"$r\" && cd \"$r\" && cat >{RECIPE_FILE} && head -c {LOG_SIZE} /dev/zero >log && \
         printf '%s\\n' {NO_STATUS} >status && printf '%-11s' - >pid && cat /proc/sys/kernel/random/boot_id >boot || \
         {{ say free \"$(free \"$d\")\"; exit 4; }}; \
         v=$(\"$d/tardy-{sha256}\" --version 2>&1); say tried \"$?\"; say version \"$v\""
    );
    with_directories(host, id, &rest)
}

/// Starts the run detached from the connection, once: a second time it does nothing. `words` are those of `tardy run`. The shell
/// ignores SIGHUP itself, because some builds of busybox have no nohup(1).
pub fn start(host: &Host, id: &str, sha256: &str, words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let run = format!(
        "trap '' HUP; trap : INT TERM; \"$0\" run {} -o {RUN_FILE} >/dev/null 2<>log; \
         printf '%03d\\n' $? 1<>status",
        words.join(" ")
    );
    let rest = format!(
        "cd \"$r\" || exit 3; mkdir started 2>/dev/null || {{ say started before; exit 0; }}; \
         detach=$(command -v setsid); \
         $detach sh -c {} \"$d/tardy-{sha256}\" >/dev/null 2>&1 </dev/null & printf '%-11s' $! 1<>pid; \
         say started now",
        quoted(&run)
    );
    with_directories(host, id, &rest)
}

/// Reports whether the run's process is alive, its exit status, and the boot of its start and of now. Whether it is alive is
/// found out first: a run that ends in between has its status then.
pub fn poll(host: &Host, id: &str) -> String {
    let rest = "say boot \"$(cat /proc/sys/kernel/random/boot_id)\"; \
                cd \"$r\" 2>/dev/null || { say run absent; exit 0; }; \
                [ -d started ] || { say run prepared; exit 0; }; \
                p=$(cat pid); p=${p%% *}; c=$(readlink \"/proc/$p/cwd\"); \
                if [ -n \"$c\" ] && [ \"$c\" = \"$(pwd -P)\" ]; then say alive yes; else say alive no; fi; \
                say status \"$(cat status)\"; say began \"$(cat boot)\"; say free \"$(free .)\"; say run started";
    with_directories(host, id, rest)
}

/// Prints the run file.
pub fn fetch(host: &Host, id: &str) -> String {
    with_directories(host, id, &format!("cat \"$r/{RUN_FILE}\""))
}

/// Prints the end of the run's log.
pub fn log(host: &Host, id: &str) -> String {
    with_directories(host, id, "tr -d '\\000' <\"$r/log\" | tail -c 4096")
}

/// Asks the run to end, or ends it if `kill` is set.
pub fn stop(host: &Host, id: &str, kill: bool) -> String {
    let signal = if kill { "KILL" } else { "TERM" };
    let rest = format!(
        "cd \"$r\" || exit 0; p=$(cat pid); p=${{p%% *}}; \
         [ \"$(readlink \"/proc/$p/cwd\")\" = \"$(pwd -P)\" ] || exit 0; kill -s {signal} -- \"-$p\"; exit 0"
    );
    with_directories(host, id, &rest)
}

/// Removes the directory of the run, and, unless the host keeps it, the program, if no other run is there.
pub fn remove(host: &Host, id: &str) -> String {
    let program = if host.leave_program {
        ""
    } else {
        "set -- \"$d\"/*/; [ -d \"$1\" ] || rm -f \"$d\"/tardy-*; rmdir \"$d\" 2>/dev/null; "
    };
    let rest = format!(
        "cd /; rm -f \"$d/.copy-{id}\"; rm -rf \"$r\" || exit 3; {program}[ ! -e \"$r\" ] && say removed yes"
    );
    with_directories(host, id, &rest)
}
