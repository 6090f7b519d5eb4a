//! Tests of fetching kernels and programs, in one program, so that it is linked once.

mod fetching;
mod real_archive;
