//! Searches: the page, and the same search for the interface.

use tardy_analyse::judgement::Judgement;
use tardy_archive::{Address, Query};
use tardy_record::facts::Preemption;
use tardy_record::units::parse_duration_ns;
use tardy_site::archive::{self as site, Asked, Found};

use crate::answer::{Answer, Refusal};
use crate::request::Request;
use crate::service::Service;

/// The parameters of a search.
pub(crate) const FIELDS: [&str; 11] = [
    "board",
    "kernel",
    "preemption",
    "config",
    "load",
    "since",
    "until",
    "verdict",
    "limit",
    "cause",
    "after",
];
/// Runs on a page.
const ON_A_PAGE: usize = 50;
const MODELS: [Preemption; 5] =
    [Preemption::Rt, Preemption::Full, Preemption::Lazy, Preemption::Voluntary, Preemption::None];

/// The page of a search.
pub(crate) fn page(service: &Service, request: &Request) -> Result<Answer, Refusal> {
    request.check_fields(&FIELDS)?;
    let asked = asked(request);
    let found = match query(&asked).and_then(|query| Ok((query, after(request)?))) {
        Err(problem) => Found { problem: Some(problem), total: 0, runs: Vec::new(), next: None },
        Ok((query, after)) => {
            let store = service.store()?;
            // Too many conditions are a wrong request here as well: no person has typed them into the form.
            let runs = store.page(&query, after.as_ref(), ON_A_PAGE)?;
            let next = runs.last().filter(|_| runs.len() == ON_A_PAGE).map(|(last, _)| next(request, last));
            Found { problem: None, total: store.count(&query)?, runs, next }
        }
    };
    // The page says what is wrong with a field. With a status of an error, a browser would complain in its console.
    Ok(Answer::page(site::search(&asked, &found, &service.about())))
}

/// The fields as they were entered.
pub(crate) fn asked(request: &Request) -> Asked {
    let field = |name: &str| request.field(name).trim().to_owned();
    Asked {
        board: field("board"),
        kernel: field("kernel"),
        preemption: field("preemption"),
        config: field("config"),
        load: field("load"),
        since: field("since"),
        until: field("until"),
        verdict: field("verdict"),
        limit: field("limit"),
        cause: field("cause"),
    }
}

/// The search that the fields ask for.
///
/// # Errors
/// Which field is wrong, and what is expected.
pub(crate) fn query(asked: &Asked) -> Result<Query, String> {
    Ok(Query {
        machine: text(&asked.board),
        kernel: parsed("kernel", &asked.kernel)?,
        preemption: among(&asked.preemption, "preemption", &MODELS, Preemption::name)?,
        config: asked
            .config
            .split_whitespace()
            .map(|option| option.parse().map_err(|reason| format!("configuration: {reason}")))
            .collect::<Result<_, _>>()?,
        load: text(&asked.load),
        since: parsed("since", &asked.since)?,
        until: parsed("until", &asked.until)?,
        judgement: among(&asked.verdict, "verdict", &Judgement::ALL, Judgement::name)?,
        limit_ns: match asked.limit.as_str() {
            "" => None,
            limit => Some(parse_duration_ns(limit).map_err(|reason| format!("declared limit: {reason}"))?),
        },
        cause: text(&asked.cause),
        ..Query::default()
    })
}

/// The run after which the page begins.
pub(crate) fn after(request: &Request) -> Result<Option<Address>, String> {
    parsed("after", request.field("after"))
}

fn text(value: &str) -> Option<String> {
    (!value.is_empty()).then(|| value.to_owned())
}

fn parsed<T: std::str::FromStr>(name: &str, value: &str) -> Result<Option<T>, String>
where
    T::Err: std::fmt::Display,
{
    match value {
        "" => Ok(None),
        value => value.parse().map(Some).map_err(|reason| format!("{name}: {reason}")),
    }
}

fn among<T: Copy>(
    value: &str,
    what: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<Option<T>, String> {
    if value.is_empty() {
        return Ok(None);
    }
    let found = all.iter().copied().find(|one| name(*one) == value);
    let names = || all.iter().map(|one| name(*one)).collect::<Vec<_>>().join(", ");
    found.map(Some).ok_or_else(|| format!("{what}: '{value}' is not one of {}", names()))
}

/// The address of the page after the run `last`.
fn next(request: &Request, last: &Address) -> String {
    let mut fields = form_urlencoded::Serializer::new(String::new());
    for (name, value) in request.fields.iter().filter(|(name, value)| name != "after" && !value.is_empty()) {
        fields.append_pair(name, value);
    }
    format!("search.html?{}", fields.append_pair("after", last.as_str()).finish())
}
