//! Runs for people to look at: text for the terminal, SVG, and one HTML file.
//!
//! Everything here is a function of runs and findings: the same run gives the same bytes. Names from outside are
//! hostile until escaped: [`latency::harmless`] for the terminal, the SVG writer and the templates for the rest.

pub mod bars;
mod captures;
mod causes;
pub mod check;
pub mod compare;
pub mod doctor;
mod flows;
mod imported;
pub mod lab;
pub mod latency;
mod levels;
pub mod noise;
pub mod notes;
mod paper;
pub mod plot;
pub mod published;
mod reactions;
pub mod report;
pub mod sentence;
pub mod summary;
pub mod table;
pub mod tsn;
mod wiggles;
