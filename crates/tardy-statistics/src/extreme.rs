//! Extreme values: the levels that are exceeded rarely, estimated from block maxima or from the values over a threshold.
//!
//! Maxima of long blocks have a generalised extreme value distribution (GEV), and excesses over a high threshold a
//! generalised Pareto distribution (GPD), if all come from one stationary mechanism (Coles, An Introduction to Statistical
//! Modeling of Extreme Values, 2001). Both have a shape ξ: negative for a bounded tail, 0 for an exponential one, positive
//! for a heavy one. [`refuse`] tests whether a sample may be used this way; a level must not be shown without its tests.

pub mod extremal_index;
pub mod fit;
pub mod goodness;
pub mod l_moments;
mod likelihood;
pub mod order;
pub mod refuse;
mod sample;
#[cfg(test)]
mod test_data;

pub use fit::{Fit, Horizon, Model};
pub use sample::Reason;
