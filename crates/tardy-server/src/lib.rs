//! The server of an archive.
//!
//! It shows the pages of the archive's static site, made when they are asked for by the same code, and answers what a static site
//! cannot: searches, comparisons of any two runs, alerts with states. Boards push runs to it. `openapi.json` describes its interface.
//!
//! A request goes through `serve` (connections), `respond` (limits), `routes` (which function answers, and who may ask), and one function of
//! `pages` or `api`. What is not made from runs, such as tokens and states, is in logs beside them (docs/adr/0035-the-server.md).

#[cfg(not(panic = "unwind"))]
compile_error!("a panic in one request must not end the server: build it with panic = \"unwind\"");

mod access;
mod answer;
mod api;
mod boards;
mod clock;
mod connections;
mod follower;
mod metrics;
mod pace;
mod pages;
mod permission;
mod request;
mod respond;
mod routes;
mod serve;
mod serve_error;
mod service;
mod settings;
mod sharing;
#[cfg(test)]
mod tests;
#[cfg(feature = "unconnected")]
mod unconnected;
mod webhooks;
mod writer;

pub use access::token::{Scope, TokenError, Tokens, UnknownToken};
pub use serve::{Started, start};
pub use serve_error::ServeError;
pub use settings::{OpenStore, Reading, Settings};
#[cfg(feature = "unconnected")]
pub use unconnected::Unconnected;
