//! Statistics as mathematics: what a set of measured values supports, and with how much confidence.
//!
//! The functions receive plain numbers in any unit and know nothing of runs, files or clocks. The same input gives the same
//! result: where random numbers are needed, the caller gives the seed. A result that the data do not support is an error
//! with its reason, never a NaN.

pub mod binomial;
pub mod bins;
pub mod change_points;
pub mod comb;
pub mod distributions;
pub mod duration;
pub mod extreme;
pub mod interval;
pub mod median;
mod minimise;
pub mod permutation;
mod random;
mod roots;
pub mod shape;
pub mod spectrum;
