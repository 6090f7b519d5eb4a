//! Dates as tools write them, and durations as `hours:minutes:seconds`. The calendar is the `time` crate's
//! (docs/adr/0014-calendar.md).

use time::format_description::well_known::{Rfc2822, Rfc3339};
use time::{OffsetDateTime, UtcOffset};

/// Seconds since 1970 as RFC 3339, UTC. `None` if the year does not have four digits.
pub(crate) fn rfc3339(seconds: i64) -> Option<String> {
    OffsetDateTime::from_unix_timestamp(seconds).ok()?.format(&Rfc3339).ok()
}

/// `Sat, 21 Nov 2026 03:05:31 +0000`, as rt-tests writes it (RFC 2822), in seconds since 1970. `None` if it is not a date.
pub(crate) fn parse_rfc2822(text: &str) -> Option<i64> {
    OffsetDateTime::parse(text.trim(), &Rfc2822).ok().map(OffsetDateTime::unix_timestamp)
}

/// `2026-11-21T03:05:31Z` in seconds since 1970. `None` if it is not a date.
pub(crate) fn parse_rfc3339(text: &str) -> Option<i64> {
    OffsetDateTime::parse(text, &Rfc3339).ok().map(OffsetDateTime::unix_timestamp)
}

/// A date of RFC 3339 as rt-tests writes it (RFC 2822, UTC). `None` if it is not a date.
pub(crate) fn rfc2822_of(text: &str) -> Option<String> {
    OffsetDateTime::parse(text, &Rfc3339).ok()?.to_offset(UtcOffset::UTC).format(&Rfc2822).ok()
}

/// A duration, `03:05:31`, in ns. There may be more than 24 hours. `None` if it is not one.
pub(crate) fn duration_ns(text: &str) -> Option<u64> {
    let mut parts = text.trim().split(':').map(|part| part.parse::<u64>().ok().filter(|n| *n < 1_000_000));
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    let sound = parts.next().is_none() && minutes < 60 && seconds < 61;
    sound.then_some((hours * 3600 + minutes * 60 + seconds) * 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_rt_tests_are_read() {
        let seconds = parse_rfc2822("Sat, 21 Nov 2026 03:05:31 +0000").unwrap();
        assert_eq!(seconds, 1_795_230_331);
        assert_eq!(rfc3339(seconds).unwrap(), "2026-11-21T03:05:31Z");
        assert_eq!(parse_rfc2822("Sat, 21 Nov 2026 04:05:31 +0100"), Some(seconds));
        assert_eq!(parse_rfc2822("Sun,  1 Nov 2026 04:05:31 +0100"), Some(1_793_502_331));
        assert_eq!(parse_rfc3339("2026-11-21T03:05:31Z"), Some(seconds));
        assert_eq!(rfc2822_of("2026-11-21T03:05:31Z").unwrap(), "Sat, 21 Nov 2026 03:05:31 +0000");
        assert_eq!(rfc2822_of("2026-11-21T04:05:31+01:00").unwrap(), "Sat, 21 Nov 2026 03:05:31 +0000");
        assert_eq!(rfc3339(0).unwrap(), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400).unwrap(), "2000-02-29T00:00:00Z");
    }

    #[test]
    fn text_that_is_not_a_date_gives_none() {
        for text in [
            "",
            "Sat, 41 Nov 2026 03:05:31 +0000",
            "Mon, 30 Feb 2026 03:05:31 +0000",
            "x",
            "1 Nov 99999 1:1:1 +0000",
            "1 Nov 2026 é +0",
        ] {
            assert_eq!(parse_rfc2822(text), None, "{text}");
        }
        assert_eq!(rfc3339(i64::MAX), None);
    }

    #[test]
    fn durations_may_exceed_a_day() {
        assert_eq!(duration_ns("27:05:31"), Some(97_531_000_000_000));
        for text in ["", "1:2", "1:60:0", "1:2:3:4", "-1:2:3"] {
            assert_eq!(duration_ns(text), None, "{text}");
        }
    }
}
