//! Tests of facts and traces, in one program, so that it is linked once.

mod facts_of_other_machines;
mod facts_of_this_machine;
mod recorded_trace;
