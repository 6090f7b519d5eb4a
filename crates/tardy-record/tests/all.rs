//! Tests of the public interface, in one program, so that it is linked once.

mod cpu_list;
mod loads;
mod missed_periods;
mod numbers;
mod stop_rule;
mod units;
