//! The alerts as an Atom feed (RFC 4287).

use tardy_alert::Alert;
use tardy_plot::numbers::harmless;
use tardy_site::archive as site;

use crate::answer::{Answer, Refusal};
use crate::request::Request;
use crate::service::Service;
use crate::sharing::locked;

/// Entries of the feed.
const ENTRIES_MAX: usize = 100;

/// The newest alerts.
pub(crate) fn atom(service: &Service, request: &Request) -> Result<Answer, Refusal> {
    let alerts = locked(&service.alerts);
    let entries: Vec<&Alert> = alerts.alerts().take(ENTRIES_MAX).collect();
    let text = feed(&entries, &request.base);
    Ok(Answer::of("application/atom+xml; charset=utf-8", text.into_bytes()))
}

fn feed(alerts: &[&Alert], base: &str) -> String {
    // A feed must have a time. That of an empty one is the beginning of time.
    let updated = alerts.iter().map(|alert| alert.updated_at()).max().unwrap_or("1970-01-01T00:00:00Z");
    let base = escaped(base);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
         <title>tardy: alerts</title>\n<id>urn:tardy:alerts</id>\n<updated>{updated}</updated>\n\
         <link rel=\"self\" href=\"{base}/alerts.atom\"/>\n<author><name>tardy</name></author>\n"
    );
    for alert in alerts {
        let address = format!("{base}/{}", site::alert_path(&alert.id));
        let title = escaped(&harmless(&format!("{}: {} ({})", alert.rule, alert.board, alert.state.name())));
        text += &format!(
            "<entry>\n<title>{title}</title>\n<id>urn:tardy:alert:{}</id>\n<link href=\"{address}\"/>\n\
             <published>{}</published>\n<updated>{}</updated>\n<summary>{}</summary>\n</entry>\n",
            alert.id,
            escaped(&alert.raised_at),
            escaped(alert.updated_at()),
            escaped(&harmless(&alert.text)),
        );
    }
    text + "</feed>\n"
}

/// Text of XML. Characters that XML does not permit were replaced by [`harmless`].
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use tardy_alert::State;
    use tardy_archive::Address;

    use super::*;

    #[test]
    fn what_is_shown_is_text() {
        let run = Address::of(b"run");
        let alert = Alert {
            id: "0123456789abcdef".to_owned(),
            rule: "a <b> & \"c\"".to_owned(),
            board: "rack3\u{1}".to_owned(),
            raised_at: "2026-11-26T00:00:00Z".to_owned(),
            run: run.clone(),
            last_run: run,
            runs: 1,
            text: "late".to_owned(),
            state: State::Open,
            notes: Vec::new(),
        };
        let text = feed(&[&alert], "http://localhost:1");
        assert!(text.contains("<title>a &lt;b&gt; &amp; &quot;c&quot;: rack3"), "{text}");
        assert!(!text.contains('\u{1}'));
        assert!(text.contains("<link href=\"http://localhost:1/alerts/0123456789abcdef.html\"/>"));
        assert!(feed(&[], "http://a").contains("<updated>1970"));
    }
}
