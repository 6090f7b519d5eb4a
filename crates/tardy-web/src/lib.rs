//! The page: reads other tools' files and tardy's, and makes reports, comparisons, judgements, figures, exports and links of them,
//! in a browser.
//!
//! Nothing here knows that it runs in a browser except `abi`, which the page's worker calls. A [`Session`] holds the runs;
//! [`answer()`] answers the page's requests about it. So the same code is tested natively, and `tests/` compares its bytes with those
//! that Node and Chromium get from the module for WebAssembly.

#[cfg(target_arch = "wasm32")]
mod abi;
mod answer;
mod bench;
mod gantt;
mod import_options;
mod reply;
mod session;
mod synthesis;

pub use answer::answer;
pub use import_options::Options;
pub use reply::Answer;
pub use session::{Added, Refusal, Session, Source, Summary};
