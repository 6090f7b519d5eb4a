//! A block of a document that is read or written by itself, between two marks.

/// The marks of a block, each a line.
pub(crate) struct MarkedBlock {
    pub(crate) begin: &'static str,
    pub(crate) end: &'static str,
}

impl MarkedBlock {
    /// `text` with another content of the block; `None` if it has no such block.
    pub(crate) fn replaced(&self, text: &str, content: &str) -> Option<String> {
        let (before, _, after) = self.parts(text)?;
        Some(format!("{before}{}\n\n{content}\n{}{after}", self.begin, self.end))
    }

    /// The content of the block in `text`; `None` if it has none.
    pub(crate) fn content<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.parts(text).map(|(_, content, _)| content)
    }

    fn parts<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str, &'t str)> {
        let (before, rest) = text.split_once(self.begin)?;
        let (content, after) = rest.split_once(self.end)?;
        Some((before, content, after))
    }
}
