//! The time of day as logs have it.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The UTC time in whole seconds, as in `2026-11-21T09:30:00Z`.
pub(crate) fn now() -> String {
    OffsetDateTime::now_utc().truncate_to_second().format(&Rfc3339).unwrap_or_default()
}
