//! Tests of bounds, in one program, so that it is linked once.

mod bounds;
