//! What a measurement is.
//!
//! Every arrow in tardy carries one type, [`Run`]: measuring makes one, importing makes one, analysis and
//! presentation read one. This crate holds that type, its parts and its file format, and nothing that touches
//! the world: it does no I/O, reads no clock and starts no thread, so that the same run always means the same.
//!
//! The road not taken: a binary format with columns. A run is at most a few hundred kilobytes because every part
//! of it is bounded (histograms are sparse, slices and block maxima merge in pairs), so one JSON document that a
//! person can open and pandas can read wins.

pub mod block_maxima;
pub mod capture;
pub mod cpu_list;
pub mod environment;
pub mod event;
pub mod facts;
pub mod file;
pub mod fill;
pub mod flow;
pub mod foreign;
pub mod gaps;
pub mod histogram;
pub mod knowable;
pub mod lab;
pub mod layout;
pub mod line_name;
pub mod load;
pub mod load_spec;
pub mod moment;
pub mod per_cpu;
pub mod pins;
pub mod plan;
pub mod run;
pub mod samples;
pub mod self_cost;
pub mod series;
pub mod series_builder;
pub mod slice;
pub mod switch;
pub mod threshold;
pub mod units;
pub mod validity;
pub mod wiggle;

pub use histogram::{Bin, Histogram};
pub use knowable::Knowable;
pub use run::Run;
pub use series::Series;
