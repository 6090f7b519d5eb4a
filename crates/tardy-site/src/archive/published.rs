//! The page of the published results, for reference.

use tardy_present::page::{Element, paragraph};
use tardy_present::published as shown;

use super::link;
use crate::{SitePage, links};

/// Columns of the list.
const WIDTH: usize = 100;

pub(super) fn page() -> SitePage {
    let results = tardy_analyse::published::built_in();
    let text = shown::list(results, WIDTH);
    SitePage {
        path: "published.html".to_owned(),
        title: "Published results".to_owned(),
        header: vec![
            links(vec![link("index.html", "all boards")]),
            paragraph(
                "note",
                "Results of articles, which 'tardy compare RUN published:ID' shows next to a run.",
            ),
        ],
        sections: vec![vec![Element::Code { text }]],
        run_count: 0,
    }
}
