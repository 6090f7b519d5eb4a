//! A task of the guest.

/// A task of the guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// Its address in the guest's kernel, which tells tasks apart.
    pub address: u64,
    /// Its process id.
    pub pid: u32,
    /// Its name.
    pub name: String,
}
