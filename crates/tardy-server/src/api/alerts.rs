//! Alerts for programs.

use serde::Deserialize;
use tardy_alert::{Alert, State};

use crate::answer::{Answer, Refusal};
use crate::pages;
use crate::request::Request;
use crate::service::Service;
use crate::sharing::locked;

/// A state that is to be set.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Setting {
    state: String,
    #[serde(default)]
    note: String,
}

/// All alerts, or those with a state.
pub(crate) fn list(service: &Service, request: &Request) -> Result<Answer, Refusal> {
    request.check_fields(&["state"])?;
    let wanted: Option<State> = match request.field("state") {
        "" => None,
        text => Some(text.parse().map_err(Refusal::wrong)?),
    };
    let alerts = locked(&service.alerts);
    let found: Vec<&Alert> =
        alerts.alerts().filter(|alert| wanted.is_none_or(|state| alert.state == state)).collect();
    Ok(Answer::json(&found))
}

/// Sets the state of an alert.
pub(crate) fn set(service: &Service, request: &Request) -> Result<Answer, Refusal> {
    let Setting { state, note } = serde_json::from_slice(&request.body).map_err(|error| {
        Refusal::wrong(format!("expected {{\"state\": \"fixed\", \"note\": \"…\"}}: {error}"))
    })?;
    Ok(Answer::json(&pages::alerts::set(service, request, request.part("id"), &state, &note)?))
}
