//! Who asks: tokens, names by which the server may be asked, and how often one sender may ask.

pub(crate) mod host;
pub(crate) mod rates;
pub(crate) mod token;
pub(crate) mod who;
