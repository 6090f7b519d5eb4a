//! The pages of alerts, and the form that sets a state.

use tardy_alert::{Alert, Note, State};
use tardy_archive::Action;
use tardy_site::archive as site;

use crate::answer::{Answer, Refusal};
use crate::clock::now;
use crate::request::Request;
use crate::service::Service;
use crate::sharing::locked;

/// The longest note.
const NOTE_MAX: usize = 2000;

/// All alerts.
pub(crate) fn all(service: &Service, _: &Request) -> Result<Answer, Refusal> {
    let (rules, about) = (service.rules(), service.about());
    let rules = rules.as_ref().map(|rules| rules.rules.len()).map_err(ToString::to_string);
    let alerts = locked(&service.alerts);
    let all: Vec<&Alert> = alerts.alerts().collect();
    Ok(Answer::page(site::alerts(&all, &rules, &about)))
}

/// An alert.
pub(crate) fn one(service: &Service, request: &Request) -> Result<Answer, Refusal> {
    let about = service.about();
    let alerts = locked(&service.alerts);
    let alert =
        alerts.alert(id(request)).ok_or_else(|| Refusal::unknown("there is no alert of this name"))?;
    Ok(Answer::page(site::alert(alert, &about)))
}

/// Sets the state of an alert, and shows it.
pub(crate) fn set_by_form(service: &Service, request: &Request) -> Result<Answer, Refusal> {
    request.check_fields(&["state", "note"])?;
    set(service, request, id(request), request.field("state"), request.field("note"))?;
    Ok(Answer::go_to(&format!("{}.html", id(request))))
}

/// Sets the state of an alert.
pub(crate) fn set(
    service: &Service,
    request: &Request,
    id: &str,
    state: &str,
    text: &str,
) -> Result<Alert, Refusal> {
    let state: State = state.parse().map_err(Refusal::wrong)?;
    if text.chars().count() > NOTE_MAX {
        return Err(Refusal::wrong(format!("a note has at most {NOTE_MAX} characters")));
    }
    let note = Note { at: now(), by: request.who.name(), state, text: text.to_owned() };
    let mut alerts = locked(&service.alerts);
    let unknown = || Refusal::unknown(format!("there is no alert '{id}'"));
    alerts.alert(id).ok_or_else(unknown)?;
    // Who set a state is known before the state is set.
    service.note(&request.who, Action::StateSet, id, &format!("{}: {text}", state.name()))?;
    let alert = alerts.set(id, note)?.cloned();
    service.news.tell();
    alert.ok_or_else(unknown)
}

fn id(request: &Request) -> &str {
    request.part("file").strip_suffix(".html").unwrap_or_default()
}
