//! The pages. Their names are those of the static site, so a link to one leads to the same page of the other.

pub(crate) mod alerts;
pub(crate) mod archive;
pub(crate) mod feed;
pub(crate) mod runs;
pub(crate) mod search;
