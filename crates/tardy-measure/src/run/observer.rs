//! Who is told while a run goes on.

/// Someone who watches a run. Called from the house's one thread, about once a second.
pub trait Observer {
    /// How far the run is.
    fn progress(&mut self, progress: &Standing<'_>);
    /// Something that a person should know at once.
    fn say(&mut self, text: &str);
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// The phase's label.
    pub phase: &'a str,
    /// Its number, from 1.
    pub number: usize,
    /// How many phases there are.
    pub of: usize,
    /// Counted time in this phase.
    pub counted_ns: u64,
    /// Counted time that is planned for it.
    pub planned_ns: u64,
    /// The worst case so far in this phase, and its CPU.
    pub worst: Option<(i64, u32)>,
    /// Deadlines missed so far in this phase.
    pub missed: u64,
}
