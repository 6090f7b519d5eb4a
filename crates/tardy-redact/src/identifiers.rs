//! MAC addresses, UUIDs and `user@host` in kept texts; versions, sources, and a run's id and date.

use tardy_record::run::REDACTED;
/// Programs that write their names into the version of a file.
const PROGRAMS: [&str; 7] = ["tardy", "libsigrok", "sigrok", "Saleae", "GTKWave", "Icarus", "Verilator"];

/// `text` with MAC addresses, UUIDs and `user@host` replaced.
pub(super) fn without(text: &str) -> String {
    let is_boundary = |c: char| c.is_whitespace() || "()<>,;\"'".contains(c);
    // Addresses first: a host may be named by its address.
    let text = without_addresses(text);
    let words = text.split_inclusive(is_boundary).map(|word| {
        let name = word.trim_end_matches(is_boundary);
        if is_user_at_host(name) { word.replacen(name, REDACTED, 1) } else { word.to_owned() }
    });
    words.collect()
}

/// Whether a word is `user@host`. `mmc@7e300000`, a node of a device tree, is not.
fn is_user_at_host(word: &str) -> bool {
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "._-".contains(c));
    word.split_once('@').is_some_and(|(user, host)| {
        is_name(user) && is_name(host) && !host.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

fn without_addresses(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        // An identifier begins where a word begins: the digest `…12:34` does not contain one.
        let is_inside = kept.ends_with(|c: char| c.is_ascii_hexdigit());
        match identifier(rest).filter(|_| !is_inside) {
            Some(length) => {
                kept.push_str(REDACTED);
                rest = &rest[length..];
            }
            None => {
                kept.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    kept
}

/// The length of the MAC address, the UUID or the interface named by its MAC address at the beginning of `text`.
fn identifier(text: &str) -> Option<usize> {
    const MAC: [usize; 6] = [2; 6];
    const UUID: [usize; 5] = [8, 4, 4, 4, 12];
    // systemd's names: `enx` of wired and `wlx` of wireless interfaces.
    let by_mac = ["enx", "wlx"].iter().find_map(|prefix| text.strip_prefix(prefix));
    groups(text, &MAC, ':')
        .or_else(|| groups(text, &MAC, '-'))
        .or_else(|| groups(text, &UUID, '-'))
        .or_else(|| groups(by_mac?, &[12], ':').map(|length| length + 3))
}

/// The length of groups of hexadecimal digits of these lengths, separated by `separator`, at the beginning of `text`.
fn groups(text: &str, lengths: &[usize], separator: char) -> Option<usize> {
    let mut at = 0;
    for (index, length) in lengths.iter().enumerate() {
        if index > 0 {
            at += usize::from(text[at..].starts_with(separator));
        }
        let digits = text[at..].bytes().take_while(u8::is_ascii_hexdigit).count();
        let is_separated = index == 0 || text[..at].ends_with(separator);
        if digits != *length || !is_separated {
            return None;
        }
        at += length;
    }
    Some(at)
}

/// A version without the words that are neither numbers nor names of [`PROGRAMS`], such as the author's in a capture.
pub(super) fn version(text: &str) -> String {
    let is_number = |word: &str| {
        let number = word.strip_prefix("evl.").or(word.strip_prefix(['v', 'V'])).unwrap_or(word);
        let is_of_a_number = |c: char| c.is_ascii_alphanumeric() || ".+~-".contains(c);
        word.len() <= 16
            && number.starts_with(|c: char| c.is_ascii_digit())
            && number.chars().all(is_of_a_number)
    };
    let kept = |word| if is_number(word) || PROGRAMS.contains(&word) { word } else { REDACTED };
    let mut words: Vec<&str> = text.split_whitespace().map(kept).collect();
    words.dedup_by(|next, last| *next == REDACTED && *last == REDACTED);
    words.join(" ")
}

/// The source of a cgroup's limit without the path of the group.
pub(super) fn source_of_cgroup(text: &str) -> String {
    const FILE: &str = "cpu.rt_runtime_us";
    if text.contains(FILE) { FILE.to_owned() } else { without(text) }
}

/// The id of a run without a file name: the date and number that tardy generates, or the number alone.
pub(super) fn id(text: &str) -> String {
    let parts: Vec<&str> = text.split('-').collect();
    let is_digits =
        |part: &str, length| part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_hash = |part: &str| part.len() == 8 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    match parts[..] {
        [date, time, number] if is_digits(date, 8) && is_digits(time, 6) && is_hash(number) => {
            text.to_owned()
        }
        ["simulated", gates, seed]
            if matches!(gates, "linux" | "ideal") && seed.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            text.to_owned()
        }
        [.., hash] if is_hash(hash) => format!("{REDACTED}-{hash}"),
        _ => REDACTED.to_owned(),
    }
}

/// A date in RFC 3339; another text is replaced.
pub(super) fn date(text: &str) -> String {
    let is_of_a_date = |c: char| c.is_ascii_digit() || "-:.+TZ ".contains(c);
    if text.len() <= 40 && text.chars().all(is_of_a_date) { text.to_owned() } else { REDACTED.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_uuids_are_replaced() {
        for (text, expected) in [
            ("b8:27:eb:01:23:45", "redacted"),
            ("irq/39-enxb827eb012345-rx", "irq/39-redacted-rx"),
            ("mac=B8-27-EB-01-23-45,", "mac=redacted,"),
            ("a 6c1b0d7e-1f0a-4c4b-9a55-3f1f0e2d4c5b b", "a redacted b"),
            ("PCI-MSIX-0000:00:02.0  1-edge  virtio1-req.0", "PCI-MSIX-0000:00:02.0  1-edge  virtio1-req.0"),
            ("12:34:56", "12:34:56"),
            ("#1 SMP (jane@plant-7) PREEMPT_RT @0", "#1 SMP (redacted) PREEMPT_RT @0"),
            ("jane@b8:27:eb:01:23:45", "redacted"),
            ("27 Level mmc@7e300000", "27 Level mmc@7e300000"),
            ("ééé :: é", "ééé :: é"),
        ] {
            assert_eq!(without(text), expected);
        }
    }

    #[test]
    fn a_version_keeps_numbers_and_known_programs() {
        for (text, expected) in [
            ("2.40", "2.40"),
            ("evl.0.44", "evl.0.44"),
            ("libsigrok 0.5.2", "libsigrok 0.5.2"),
            ("PlantSeven dumper by jane 1.0", "redacted 1.0"),
        ] {
            assert_eq!(version(text), expected);
            assert_eq!(version(expected), expected, "redacting twice is the same");
        }
    }

    #[test]
    fn a_cgroups_path_is_removed_from_its_source() {
        let text = "no /sys/fs/cgroup/cpu/system.slice/plant7.service/cpu.rt_runtime_us";
        assert_eq!(source_of_cgroup(text), "cpu.rt_runtime_us");
        let other = "no cgroup v1 for cpu in /proc/self/cgroup and mounts";
        assert_eq!(source_of_cgroup(other), other);
    }

    #[test]
    fn an_id_keeps_its_number_and_loses_the_name_of_a_file() {
        assert_eq!(id("20261123-054030-0a512ce6"), "20261123-054030-0a512ce6");
        assert_eq!(id("simulated-linux-1"), "simulated-linux-1");
        assert_eq!(id("customer-x.txt-b1bfca27"), "redacted-b1bfca27");
        assert_eq!(id("redacted-b1bfca27"), "redacted-b1bfca27");
        assert_eq!(id("board of Jane"), "redacted");
    }
}
