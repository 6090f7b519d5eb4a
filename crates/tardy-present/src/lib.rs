//! Runs as text for the terminal, as SVG, and as an HTML report.
//!
//! Everything here is a function of runs and findings: the same run gives the same bytes. Each feature has a section in
//! [`sections`]; [`summary`] and [`report`] show whatever sections there are. Names from outside are hostile until
//! escaped: by [`latency::harmless`] for the terminal, by the SVG writer and the templates for the rest.

pub mod bars;
pub mod check;
pub mod compare;
pub mod doctor;
pub mod figures;
pub mod lab;
pub mod latency;
pub mod latency_plot;
pub mod page;
pub mod plot;
pub mod published;
pub mod report;
pub mod section;
pub mod sections;
pub mod summary;
pub mod table;
pub mod terminal_text;
pub mod terms;
pub mod tsn_check;
