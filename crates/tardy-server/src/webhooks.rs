//! The thread that tells webhooks about alerts: a POST request with JSON, repeated until it is accepted.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;
use tardy_alert::{Alert, Webhook};

use crate::service::Service;
use crate::sharing::{caught, locked};

/// How often rules are read again for new webhooks, and those that did not accept are asked again at first.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// The longest wait before the next attempt.
const WAIT_MAX: Duration = Duration::from_secs(600);
/// How long a webhook may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is sent.
#[derive(Serialize)]
struct Message<'a> {
    alerts: &'a [Alert],
}

struct Attempt {
    next: Instant,
    wait: Duration,
}

/// Tells webhooks until the server ends.
pub(crate) fn tell(service: &Service) {
    let mut seen = 0;
    let mut failed: BTreeMap<String, Attempt> = BTreeMap::new();
    loop {
        for webhook in service.rules().unwrap_or_default().webhooks {
            if failed.get(&webhook.url).is_some_and(|attempt| Instant::now() < attempt.next) {
                continue;
            }
            let told = caught(|| tell_one(service, &webhook));
            match told.unwrap_or_else(|_| Err("a fault of tardy".to_owned())) {
                Ok(()) => {
                    failed.remove(&webhook.url);
                }
                Err(reason) => {
                    let wait =
                        failed.get(&webhook.url).map_or(LOOK_EVERY, |last| (last.wait * 2).min(WAIT_MAX));
                    service.news.report_once(&format!("webhook {}: {reason}", webhook.url));
                    failed.insert(webhook.url, Attempt { next: Instant::now() + wait, wait });
                }
            }
        }
        if !service.news.wait(&mut seen, LOOK_EVERY) {
            return;
        }
    }
}

fn tell_one(service: &Service, webhook: &Webhook) -> Result<(), String> {
    let news = {
        let mut alerts = locked(&service.alerts);
        if !alerts.knows_webhook(&webhook.url) {
            // It is not told about what happened before it was added.
            return alerts.note_told(&webhook.url, None).map_err(|error| error.to_string());
        }
        alerts.news_for(&webhook.url)
    };
    let Some((alerts, lines)) = news else { return Ok(()) };
    let body = serde_json::to_vec(&Message { alerts: &alerts }).map_err(|error| error.to_string())?;
    let mut request = tardy_push::agent(PATIENCE).post(&webhook.url).content_type("application/json");
    if let Some(file) = &webhook.token_file {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let token = text.lines().next().unwrap_or_default().trim().to_owned();
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let response = request.send(&body[..]).map_err(|error| error.to_string())?;
    if !response.status().is_success() {
        return Err(format!("it answered with status {}", response.status()));
    }
    locked(&service.alerts).note_told(&webhook.url, Some(lines)).map_err(|error| error.to_string())
}
