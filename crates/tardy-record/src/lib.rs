//! The data model of a measurement.
//!
//! All parts of tardy exchange one type, [`Run`]: measuring and importing create it, analysis and presentation read
//! it. This crate holds that type, its parts and its file format. It does no I/O, reads no clock and starts no
//! thread, so the same run always gives the same results.
//!
//! Alternative not taken: a binary columnar format. A run is at most a few hundred kilobytes because every part of it
//! is bounded (histograms are sparse, slices and block maxima merge in pairs), so a JSON document that people and
//! pandas can read is preferable.

pub mod block_maxima;
pub mod capture;
pub mod census;
pub mod cpu_list;
pub mod csv;
pub mod environment;
pub mod event;
pub mod excerpt;
pub mod explanation;
pub mod facts;
pub mod file;

pub mod flow;
pub mod flow_recorder;
pub mod foreign;
pub mod gaps;
pub mod gates;
pub mod histogram;
pub mod knowable;
pub mod lab;
pub mod layout;
mod level;
pub mod line_name;
pub mod load;
pub mod load_spec;
pub mod missed_periods;
pub mod moment;
mod noise;
pub mod per_cpu;
pub mod pins;
pub mod placement;
pub mod plan;
pub mod program;
pub mod reason;
pub mod round_trip;
pub mod run;
pub mod samples;
mod scheduling;
pub mod self_cost;
pub mod series;
pub mod series_builder;
pub mod series_kind;
pub mod slice;
pub mod stop_rule;
pub mod switch;
pub mod threshold;
mod timer;
mod tracer;
pub mod tuning;
pub mod units;
pub mod validity;
pub mod wiggle;

pub use histogram::{Bin, Histogram};
pub use knowable::Knowable;
pub use run::Run;
pub use series::Series;
