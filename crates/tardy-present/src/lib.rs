//! Runs as text for the terminal, as SVG, and as an HTML report.
//!
//! All functions depend only on runs and findings: the same run gives the same bytes. Each feature has a section in
//! [`sections`]; [`summary`] and [`report`] show all sections. Names from run files are untrusted:
//! [`tardy_plot::numbers::harmless`] escapes them for the terminal, and the SVG writer and the templates escape them for pages.

pub mod ascii;
pub mod bars;
pub mod check;
pub mod compare;
pub mod doctor;
pub mod effect;
pub mod figures;
pub mod history;
pub mod lab;
pub mod markdown;
pub mod overview;
pub mod page;
mod placement_text;
pub mod plan_text;
pub mod plot_file;
pub mod published;
pub mod report;
pub mod section;
pub mod sections;
pub mod seeds;
pub mod summary;
pub mod table;
pub mod terminal_text;
pub mod versus;
