//! Which function answers a request, and what its sender must be permitted.

use axum::http::Method;

use crate::access::token::Scope;
use crate::answer::{Answer, Refusal};
use crate::api;
use crate::pages;
use crate::request::Request;
use crate::service::Service;

/// A route.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) method: Method,
    /// The path. A part in braces stands for one segment.
    pub(crate) path: &'static str,
    /// What the sender needs; `None`: anyone may ask.
    pub(crate) scope: Option<Scope>,
    pub(crate) answer: fn(&Service, &Request) -> Result<Answer, Refusal>,
}

/// All routes.
pub(crate) fn all() -> Vec<Route> {
    let route = |method, path, scope, answer| Route { method, path, scope, answer };
    let page = |path, answer| route(Method::GET, path, Some(Scope::Read), answer);
    vec![
        page("/", pages::archive::overview),
        page("/index.html", pages::archive::overview),
        page("/boards/{file}", pages::archive::board),
        page("/kernels/{file}", pages::archive::kernel),
        page("/published.html", pages::archive::published),
        page("/runs/{file}", pages::runs::one),
        page("/compare.html", pages::runs::compare),
        page("/search.html", pages::search::page),
        page("/alerts.html", pages::alerts::all),
        page("/alerts.atom", pages::feed::atom),
        page("/alerts/{file}", pages::alerts::one),
        route(Method::POST, "/alerts/{file}", Some(Scope::Triage), pages::alerts::set_by_form),
        page("/metrics", api::read::metrics),
        page("/api/v1/boards", api::read::boards),
        page("/api/v1/runs", api::read::list),
        page("/api/v1/runs/{address}", api::read::run),
        route(Method::PUT, "/api/v1/runs/{address}", Some(Scope::Push), api::push::run),
        route(Method::DELETE, "/api/v1/runs/{address}", Some(Scope::Admin), api::read::delete),
        page("/api/v1/alerts", api::alerts::list),
        route(Method::POST, "/api/v1/alerts/{id}", Some(Scope::Triage), api::alerts::set),
        route(Method::GET, "/api/v1/openapi.json", None, api::read::openapi),
    ]
}

/// Whether programs ask for this path, who get errors as JSON.
pub(crate) fn is_for_programs(path: &str) -> bool {
    path.starts_with("/api/") || path == "/metrics"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_description_has_every_route_for_programs_and_no_other() {
        let described: serde_json::Value = serde_json::from_str(api::OPENAPI).unwrap();
        let paths = described["paths"].as_object().unwrap();
        let methods = |(path, item): (&String, &serde_json::Value)| {
            let known = ["get", "put", "post", "delete"];
            let all = item.as_object().unwrap().keys().filter(|key| known.contains(&key.as_str()));
            all.map(|method| format!("{method} {path}")).collect::<Vec<_>>()
        };
        let described: BTreeSet<String> = paths.iter().flat_map(methods).collect();
        let routes: BTreeSet<String> = all()
            .into_iter()
            .filter(|route| is_for_programs(route.path))
            .map(|route| format!("{} {}", route.method.as_str().to_lowercase(), route.path))
            .collect();
        assert_eq!(described, routes);
    }

    #[test]
    fn whoever_changes_something_needs_a_scope() {
        for route in all() {
            let is_read = route.method == Method::GET;
            assert!(is_read || route.scope.is_some_and(|scope| scope != Scope::Read), "{}", route.path);
        }
    }
}
