//! The server of an archive.
//!
//! It shows the pages of the archive's static site, made when they are asked for by the same code, and answers what a static site
//! cannot: searches, comparisons of any two runs, alerts with states. Boards push runs to it. `openapi.json` describes its interface.
//!
//! A request goes through `serve` (connections and limits), `routes` (which function answers, and who may ask), and one function of
//! `pages` or `api`. What is not made from runs, such as tokens and states, is in logs beside them (docs/adr/0035-the-server.md).

mod access;
mod answer;
mod api;
mod boards;
mod clock;
mod follower;
mod metrics;
mod pages;
mod permission;
mod request;
mod routes;
mod serve;
mod serve_error;
mod service;
mod settings;
mod sharing;
mod webhooks;
mod writer;

pub use access::token::{Scope, TokenError, Tokens, UnknownToken};
pub use serve::{Started, start};
pub use serve_error::ServeError;
pub use settings::{OpenStore, Reading, Settings};
