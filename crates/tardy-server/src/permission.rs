//! Whether the sender of a request may do what it asks for.

use std::net::IpAddr;

use axum::http::{HeaderMap, Method, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::access::token::{Scope, Token};
use crate::access::who::Who;
use crate::answer::Refusal;
use crate::service::Service;
use crate::settings::Reading;

/// Decides whether the sender of a request with these headers may do what needs `scope`; without a scope, anyone may.
pub(crate) fn check(
    service: &Service,
    scope: Option<Scope>,
    method: &Method,
    headers: &HeaderMap,
    peer: IpAddr,
) -> Result<Who, Refusal> {
    let token = match credentials(headers) {
        Some(secret) => Some(known(service, &secret, peer)?),
        None => None,
    };
    check_origin(method, headers)?;
    let who = token.as_ref().map_or(Who::Anyone(peer), |token| Who::Token(token.name.clone()));
    let Some(scope) = scope else { return Ok(who) };
    let anyone_may = scope == Scope::Read && service.settings.reading == Reading::Anyone;
    match token {
        _ if anyone_may => Ok(who),
        Some(token) if token.permits(scope) => Ok(who),
        Some(token) => Err(Refusal::new(
            StatusCode::FORBIDDEN,
            format!("the token '{}' does not have the scope '{}'", token.name, scope.name()),
        )),
        None => Err(Refusal::new(
            StatusCode::UNAUTHORIZED,
            format!(
                "this needs a token with the scope '{}'; 'tardy archive token' on the server makes one",
                scope.name()
            ),
        )),
    }
}

/// The token that was sent, as a bearer token or as the password of a browser's dialogue.
fn credentials(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    match scheme.to_ascii_lowercase().as_str() {
        "bearer" => Some(rest.trim().to_owned()),
        "basic" => {
            let decoded = String::from_utf8(STANDARD.decode(rest.trim()).ok()?).ok()?;
            decoded.split_once(':').map(|(_, password)| password.to_owned())
        }
        _ => None,
    }
}

fn known(service: &Service, secret: &str, peer: IpAddr) -> Result<Token, Refusal> {
    let tokens = service.tokens()?;
    if let Some(token) = tokens.find(secret) {
        return Ok(token.clone());
    }
    service.rates.count_failure(peer)?;
    Err(Refusal::new(StatusCode::UNAUTHORIZED, "the token is not known; it may have been revoked"))
}

/// Refuses a change that another site's page made the browser ask for.
fn check_origin(method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
    if method == Method::GET || method == Method::HEAD {
        return Ok(());
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let from_here = text("sec-fetch-site").is_none_or(|site| matches!(site, "same-origin" | "none"));
    let host = text("host").unwrap_or_default();
    let origin_is_here = text("origin").is_none_or(|origin| {
        origin.split_once("://").is_some_and(|(_, origin)| origin.eq_ignore_ascii_case(host))
    });
    match from_here && origin_is_here {
        true => Ok(()),
        false => Err(Refusal::new(StatusCode::FORBIDDEN, "another site's page asked for this change")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        all.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_token_comes_as_bearer_or_as_a_password() {
        let of = |value: &str| credentials(&headers(&[("authorization", value)]));
        assert_eq!(of("Bearer tardy_x"), Some("tardy_x".to_owned()));
        assert_eq!(of(&format!("Basic {}", STANDARD.encode("me:tardy_x"))), Some("tardy_x".to_owned()));
        for wrong in ["tardy_x", "Digest x", "Basic !", "Basic eA=="] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_change_for_another_sites_page_is_refused() {
        let post = |all: &[(&'static str, &str)]| check_origin(&Method::POST, &headers(all));
        assert!(
            post(&[("host", "a:1"), ("origin", "http://a:1"), ("sec-fetch-site", "same-origin")]).is_ok()
        );
        assert!(post(&[("host", "a:1")]).is_ok(), "a program");
        assert!(post(&[("host", "a:1"), ("origin", "http://b")]).is_err());
        assert!(post(&[("host", "a:1"), ("origin", "null")]).is_err());
        assert!(post(&[("host", "a:1"), ("sec-fetch-site", "cross-site")]).is_err());
        let cross_site = headers(&[("sec-fetch-site", "cross-site")]);
        assert!(check_origin(&Method::GET, &cross_site).is_ok(), "a link");
    }
}
