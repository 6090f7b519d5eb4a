//! Parses values that are written as text: rates, times, Ethernet addresses and names of interfaces.

use tardy_record::units::parse_duration_ns;

const RATES: [(&str, u64); 4] =
    [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)];

/// Parses `100Mbit/s`, `2.5 Gbit/s` into bits per second.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("'{text}' is not a rate; write a number with a unit, such as 100Mbit/s or 2.5Gbit/s");
    let text_only = text.trim();
    let (number, factor) = RATES
        .iter()
        .find_map(|(unit, factor)| text_only.strip_suffix(unit).map(|number| (number.trim(), *factor)))
        .ok_or_else(wrong)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let mut rate = whole.checked_mul(factor).ok_or_else(wrong)?;
    let mut place = factor;
    for digit in fraction.bytes() {
        place /= 10;
        rate = rate.checked_add(u64::from(digit - b'0') * place).ok_or_else(wrong)?;
    }
    if rate == 0 {
        return Err(format!("'{text}' is not a rate above 0"));
    }
    Ok(rate)
}

/// Formats a rate in bits per second as in a file, such as `2.5Gbit/s`; parsing returns the same number.
pub fn format_rate(bits_per_second: u64) -> String {
    let (unit, factor) =
        RATES.into_iter().find(|(_, factor)| bits_per_second >= *factor).unwrap_or(("bit/s", 1));
    let (whole, rest) = (bits_per_second / factor, bits_per_second % factor);
    if rest == 0 {
        return format!("{whole}{unit}");
    }
    let width = factor.ilog10() as usize;
    format!("{whole}.{}{unit}", format!("{rest:0width$}").trim_end_matches('0'))
}

/// Parses a port's speed into bits per second: whole Mbit/s, the unit of ethtool and the kernel. Both
/// truncate fractions, and treat less than 1 Mbit/s as an unknown speed.
pub(super) fn port_speed(text: &str) -> Result<u64, String> {
    let rate = rate(text)?;
    if rate == 0 || rate % 1_000_000 != 0 {
        return Err(format!(
            "'{text}' is not a whole number of Mbit/s, the kernel's unit for a port's speed"
        ));
    }
    Ok(rate)
}

/// Parses `10ms`, `-3s` into nanoseconds from the clock's zero.
pub(super) fn instant(text: &str) -> Result<i64, String> {
    let (negative, length) = match text.trim().strip_prefix('-') {
        Some(length) => (true, length),
        None => (false, text),
    };
    let ns = parse_duration_ns(length).map_err(|error| error.to_string())?;
    let ns = i64::try_from(ns)
        .map_err(|_| format!("'{text}' is more than 292 years from the clock's zero; write less"))?;
    Ok(if negative { -ns } else { ns })
}

/// Parses `1%`, `0.05%` into parts per million.
pub(super) fn share_ppm(text: &str) -> Result<u32, String> {
    let wrong = || {
        format!("'{text}' is not a share from 0% to 100% with at most four decimals; write one such as 0.1%")
    };
    let number = text.trim().strip_suffix('%').ok_or_else(wrong)?.trim_end();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 3 || fraction.len() > 4 || !digits(whole) || !digits(fraction) {
        return Err(wrong());
    }
    let ppm: u32 = format!("{whole}{fraction:0<4}").parse().map_err(|_| wrong())?;
    if ppm > 1_000_000 { Err(wrong()) } else { Ok(ppm) }
}

/// Parses `02:00:00:00:00:01`.
pub(super) fn mac(text: &str) -> Result<[u8; 6], String> {
    let wrong = || format!("'{text}' is not an Ethernet address; write six bytes, such as 02:00:00:00:00:01");
    let mut mac = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut mac {
        let part = parts.next().ok_or_else(wrong)?;
        if part.len() != 2 || !part.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
    }
    if parts.next().is_some() { Err(wrong()) } else { Ok(mac) }
}

/// Whether `name` can be the name of a network interface. The kernel accepts more (`dev_valid_name` in
/// `net/core/dev.c`), but names are written into scripts and rules that run as root, where other characters could
/// have a meaning.
pub(super) fn is_interface_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '@');
    (1..16).contains(&name.len()) && name.chars().all(allowed) && !name.starts_with(['-', '.'])
}

/// The entry of `known` that was probably meant by `word`; `None` if none is similar.
pub(super) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word: String = word.chars().take(64).collect();
    known
        .into_iter()
        .map(|candidate| (strsim::levenshtein(&word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.chars().count() / 3)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_rate_is_a_number_with_a_unit() {
        for (text, bits) in [
            ("100Mbit/s", 100_000_000),
            ("2.5 Gbit/s", 2_500_000_000),
            ("1Gbit/s", 1_000_000_000),
            ("64kbit/s", 64_000),
            ("9600bit/s", 9600),
        ] {
            assert_eq!(rate(text), Ok(bits), "{text}");
        }
        for text in ["", "100", "100Mb", "Mbit/s", "-1Mbit/s", "1e9bit/s", "0bit/s", "99999999999999Gbit/s"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_share_is_in_per_cent() {
        for (text, ppm) in [("0%", 0), ("0.1%", 1000), ("1 %", 10_000), ("100%", 1_000_000), ("0.0001%", 1)] {
            assert_eq!(share_ppm(text), Ok(ppm), "{text}");
        }
        for text in ["", "1", "%", "100.1%", "-1%", "0.00001%", "1e2%", "1000%"] {
            assert!(share_ppm(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_before_the_clocks_zero_have_a_sign() {
        assert_eq!(instant("-1.5s"), Ok(-1_500_000_000));
        assert_eq!(instant("0s"), Ok(0));
        assert!(instant("300d 10 parsecs").is_err());
        assert!(instant("110000d").unwrap_err().contains("292 years"));
    }

    #[test]
    fn a_similar_word_is_suggested_and_a_different_one_is_not() {
        assert_eq!(nearest("bsae_time", ["base_time", "cycle_time"]), Some("base_time"));
        assert_eq!(nearest("colour", ["base_time", "gates"]), None);
    }

    #[test]
    fn the_speed_of_a_port_is_in_whole_megabits() {
        assert_eq!(port_speed("2.5Gbit/s"), Ok(2_500_000_000));
        assert_eq!(port_speed("1Mbit/s"), Ok(1_000_000));
        for text in ["64kbit/s", "2.5Mbit/s", "0Mbit/s", "fast"] {
            assert!(port_speed(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn written_rates_read_back_the_same(bits in 1u64..) {
            prop_assert_eq!(rate(&format_rate(bits)), Ok(bits));
        }
    }
}
