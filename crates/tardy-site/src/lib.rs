//! Static sites: pages that refer to each other, and files of data. Any web server, or none, can show a site's directory.
//!
//! All functions depend only on their inputs. Every page has the style of a report; see [`tardy_present::page`].

pub mod archive;
pub mod kernel_history;
mod page;

pub use page::{SiteFile, SitePage, file_name, links, page};
