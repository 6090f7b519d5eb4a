//! What a reader sees of a report: headings, paragraphs and tables as text, and how many plots there are.

/// The visible text of a page.
pub(crate) struct Shown {
    html: String,
}

impl Shown {
    /// The part of `html` in its body, without style and script.
    pub(crate) fn of(html: &str) -> Self {
        let (_, body) = html.split_once("<body>").expect("a page has a body");
        let (body, _) = body.split_once("<script>").expect("the script is at its end");
        Self { html: body.to_owned() }
    }

    /// The texts of all elements of this name, in order.
    pub(crate) fn all(&self, element: &str) -> Vec<String> {
        elements(&self.html, element).into_iter().map(|(_, inside)| text(inside)).collect()
    }

    /// The headings of sections.
    pub(crate) fn sections(&self) -> Vec<String> {
        self.all("h2")
    }

    /// The part below the first heading that has this text, up to the next section.
    pub(crate) fn section(&self, heading: &str) -> Self {
        let found = self
            .html
            .split("<section>")
            .find(|part| elements(part, "h2").first().is_some_and(|(_, inside)| text(inside) == heading));
        let part = found.unwrap_or_else(|| panic!("no section '{heading}' among {:?}", self.sections()));
        Self { html: part.to_owned() }
    }

    /// The tables, each a list of rows of cells; rows of heads come first.
    pub(crate) fn tables(&self) -> Vec<Vec<Vec<String>>> {
        elements(&self.html, "table").into_iter().map(|(_, inside)| rows(inside)).collect()
    }

    /// The row of any table that begins with `head`.
    pub(crate) fn row(&self, head: &str) -> Vec<String> {
        let tables = self.tables();
        let found = tables.iter().flatten().find(|row| row.first().is_some_and(|cell| cell == head));
        found.unwrap_or_else(|| panic!("no row '{head}' in {tables:?}")).clone()
    }

    /// The judgements: class, text.
    pub(crate) fn judgements(&self) -> Vec<(String, String)> {
        let blocks = elements(&self.html, "div").into_iter();
        let judged = blocks.filter(|(tag, _)| tag.contains("class=\"verdict"));
        judged.map(|(tag, inside)| (class(tag).to_owned(), text(inside))).collect()
    }

    /// The key numbers: name, value with unit and note.
    pub(crate) fn numbers(&self) -> Vec<(String, String)> {
        let names = self.all("dt");
        let values = self.all("dd");
        names.into_iter().zip(values).collect()
    }

    /// The ids of the plots for a screen, without the ending.
    pub(crate) fn plots(&self) -> Vec<String> {
        let ids = self.html.split("<svg").skip(1).filter_map(|svg| {
            let id = svg.split_once("id=\"")?.1.split_once('"')?.0;
            id.strip_suffix("-wide").map(str::to_owned)
        });
        ids.collect()
    }

    /// Everything outside of plots, as text.
    pub(crate) fn text(&self) -> String {
        text(&self.html)
    }
}

fn class(tag: &str) -> &str {
    tag.split_once("class=\"").and_then(|(_, rest)| rest.split_once('"')).map_or("", |(class, _)| class)
}

/// The tags and contents of all elements of this name. Elements of the name within one another are not found.
fn elements<'a>(html: &'a str, name: &str) -> Vec<(&'a str, &'a str)> {
    let (open, close) = (format!("<{name}"), format!("</{name}>"));
    let mut found = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find(&open) {
        rest = &rest[at + open.len()..];
        if !rest.starts_with(['>', ' ']) {
            continue;
        }
        let Some((tag, after)) = rest.split_once('>') else { break };
        let Some((inside, _)) = after.split_once(&close) else { break };
        found.push((tag, inside));
        rest = after;
    }
    found
}

fn rows(table: &str) -> Vec<Vec<String>> {
    let cells = |row: &str| {
        let cells = row.replace("<td", "<th").replace("</td>", "</th>");
        elements(&cells, "th").into_iter().map(|(_, inside)| text(inside)).collect::<Vec<_>>()
    };
    elements(table, "tr").into_iter().map(|(_, row)| cells(row)).collect()
}

/// The text of a piece of HTML: no plots, no tags, single spaces.
pub(crate) fn text(html: &str) -> String {
    let mut plain = String::new();
    let mut rest = html;
    while let Some((before, after)) = rest.split_once('<') {
        plain.push_str(before);
        plain.push(' ');
        rest = match after.starts_with("svg") {
            true => after.split_once("</svg>").map_or("", |(_, rest)| rest),
            false => after.split_once('>').map_or("", |(_, rest)| rest),
        };
    }
    plain.push_str(rest);
    for (escape, sign) in
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#x2f;", "/"), ("&amp;", "&")]
    {
        plain = plain.replace(escape, sign);
    }
    plain.replace('\u{a0}', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}
