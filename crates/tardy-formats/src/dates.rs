//! Dates as tools write them.

/// A moment, in seconds since 1970 UTC.
pub(crate) fn from_civil(year: i64, month: u32, day: u32, second_of_day: i64) -> Option<i64> {
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days from civil date, by eras of 400 years (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let month_from_march = i64::from((month + 9) % 12);
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some((era * 146_097 + day_of_era - 719_468) * 86_400 + second_of_day)
}

/// Seconds since 1970 as RFC 3339, UTC; nothing where the year has not four digits.
pub(crate) fn rfc3339(seconds: i64) -> Option<String> {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    (1..=9999)
        .contains(&year)
        .then(|| format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z", second % 60))
}

/// `Sat, 21 Nov 2026 03:05:31 +0000`, as rt-tests writes it (RFC 2822), in seconds since 1970.
pub(crate) fn parse_rfc2822(text: &str) -> Option<i64> {
    let rest = text.split_once(',').map_or(text, |(_, rest)| rest);
    let mut words = rest.split_whitespace();
    let day: u32 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month)? as u32 + 1;
    let year: i64 = words.next()?.parse().ok()?;
    let second = clock_time(words.next()?)?;
    let zone = words.next()?;
    let (sign, digits) = zone.split_at_checked(1)?;
    let digits: i64 = digits.parse().ok().filter(|digits| (0..=2400).contains(digits))?;
    let east = digits / 100 * 3600 + digits % 100 * 60;
    let east = if sign == "-" { -east } else { east };
    Some(from_civil(year, month, day, second)? - east)
}

/// `03:05:31` in seconds.
pub(crate) fn clock_time(text: &str) -> Option<i64> {
    let mut parts =
        text.split(':').map(|part| part.parse::<i64>().ok().filter(|n| (0..1_000_000).contains(n)));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    (parts.next().is_none() && minute < 60 && second < 61).then_some(hour * 3600 + minute * 60 + second)
}

/// `2026-11-21T03:05:31Z` in seconds since 1970.
pub(crate) fn parse_rfc3339(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut parts = date.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let second = clock_time(time.split('.').next()?)?;
    from_civil(year, u32::try_from(month).ok()?, u32::try_from(day).ok()?, second)
}

/// A date of RFC 3339 as rt-tests writes it (RFC 2822); nothing for what is no such date.
pub fn rfc2822_of(text: &str) -> Option<String> {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let seconds = parse_rfc3339(text)?;
    let plain = rfc3339(seconds)?;
    let month = MONTHS.get(plain[5..7].parse::<usize>().ok()?.checked_sub(1)?)?;
    let weekday = DAYS[seconds.div_euclid(86_400).rem_euclid(7) as usize];
    Some(format!("{weekday}, {} {month} {} {} +0000", &plain[8..10], &plain[..4], &plain[11..19]))
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_rt_tests_are_read() {
        let seconds = parse_rfc2822("Sat, 21 Nov 2026 03:05:31 +0000").unwrap();
        assert_eq!(seconds, 1_795_230_331);
        assert_eq!(rfc3339(seconds).unwrap(), "2026-11-21T03:05:31Z");
        assert_eq!(parse_rfc2822("Sat, 21 Nov 2026 04:05:31 +0100"), Some(seconds));
        assert_eq!(parse_rfc3339("2026-11-21T03:05:31Z"), Some(seconds));
        assert_eq!(rfc2822_of("2026-11-21T03:05:31Z").unwrap(), "Sat, 21 Nov 2026 03:05:31 +0000");
        assert_eq!(rfc3339(0).unwrap(), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400).unwrap(), "2000-02-29T00:00:00Z");
    }

    #[test]
    fn nonsense_is_no_date() {
        for text in ["", "Sat, 41 Nov 2026 03:05:31 +0000", "x", "1 Nov 99999 1:1:1 +0000", "1 Nov 2026 é +0"]
        {
            assert_eq!(parse_rfc2822(text), None, "{text}");
        }
    }
}
