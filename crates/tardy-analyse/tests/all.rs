//! Tests of the analysis, in one program, so that it is linked once.

mod coverage;
mod published;
