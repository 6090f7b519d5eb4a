//! Writes the SVG elements that plots use. All text is escaped here, and all coordinates are formatted by [`number`].

use std::fmt::Write as _;

use crate::numbers::harmless;

use super::STYLE;

/// The part of a text that is at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// At its beginning.
    Start,
    /// In its middle.
    Middle,
    /// At its end.
    End,
}

/// An unfinished drawing.
#[derive(Clone, Debug, Default)]
pub struct Svg {
    body: String,
}

impl Svg {
    /// A straight line.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let path = format!("M{} {}L{} {}", number(from.0), number(from.1), number(to.0), number(to.1));
        self.path(class, &path);
    }

    /// Begins a group, which the page's script finds by its class.
    pub fn open(&mut self, class: &str) {
        let _ = write!(self.body, "<g class=\"{class}\">");
    }

    /// Begins a group with attributes for the page's script: name after `data-`, and value.
    pub fn open_with(&mut self, class: &str, data: &[(&str, String)]) {
        let _ = write!(self.body, "<g class=\"{class}\"");
        for (name, value) in data {
            let _ = write!(self.body, " data-{name}=\"{}\"", escaped(value));
        }
        self.body.push('>');
    }

    /// Ends a group.
    pub fn close(&mut self) {
        self.body.push_str("</g>");
    }

    /// A path, its commands written with [`number`] or [`Path`].
    pub fn path(&mut self, class: &str, commands: &str) {
        if !commands.is_empty() {
            let _ = write!(self.body, "<path class=\"{class}\" d=\"{commands}\"/>");
        }
    }

    /// A path with a name, which browsers show under the pointer.
    pub fn named_path(&mut self, class: &str, commands: &str, name: &str) {
        if !commands.is_empty() {
            let name = escaped(name);
            let _ =
                write!(self.body, "<path class=\"{class}\" d=\"{commands}\"><title>{name}</title></path>");
        }
    }

    /// A path drawn with a line of `width` pixels.
    pub fn thick_path(&mut self, class: &str, width: f64, commands: &str) {
        if !commands.is_empty() {
            let width = number(width);
            let _ = write!(self.body, "<path class=\"{class}\" stroke-width=\"{width}\" d=\"{commands}\"/>");
        }
    }

    /// A rectangle.
    pub fn rectangle(&mut self, class: &str, corner: (f64, f64), width: f64, height: f64) {
        let (x, y) = (number(corner.0), number(corner.1));
        let (width, height) = (number(width.max(0.0)), number(height.max(0.0)));
        let _ = write!(
            self.body,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        );
    }

    /// A dot.
    pub fn dot(&mut self, class: &str, at: (f64, f64), radius: f64) {
        let (x, y, r) = (number(at.0), number(at.1), number(radius));
        let _ = write!(self.body, "<circle class=\"dot {class}\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\"/>");
    }

    /// A line of text, which is escaped.
    pub fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let (x, y) = (number(at.0), number(at.1));
        let _ = write!(self.body, "<text{class} x=\"{x}\" y=\"{y}\"{anchor}>{}</text>", escaped(text));
    }

    /// The finished drawing. `id` is unique in a page; `title` and `description` are for screen readers;
    /// `data` are attributes for the page's script, such as the scales.
    pub fn finish(self, head: &Head) -> String {
        let (id, width, height) = (head.id, number(head.width), number(head.height));
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tardy-plot\" id=\"{id}\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" aria-labelledby=\"{id}-title {id}-text\""
        );
        for (name, value) in &head.data {
            let _ = write!(text, " data-{name}=\"{}\"", escaped(value));
        }
        let _ = write!(
            text,
            "><title id=\"{id}-title\">{}</title><desc id=\"{id}-text\">{}</desc>",
            escaped(head.title),
            escaped(head.description)
        );
        if head.standalone {
            let _ = write!(
                text,
                "<style>{STYLE}</style><rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>"
            );
        }
        text + &self.body + "</svg>\n"
    }
}

/// A separate file with these drawings one below the other, under a title. The drawings are finished without a style
/// sheet, and as wide as the first.
pub fn document(title: Option<&str>, drawings: &[String]) -> String {
    let side = |drawing: &str, name: &str| -> f64 {
        let value = drawing.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split_once('"'));
        value.and_then(|(value, _)| value.parse().ok()).unwrap_or(0.0)
    };
    let width = drawings.iter().map(|drawing| side(drawing, "width")).fold(0.0, f64::max);
    let mut height = if title.is_some() { 26.0 } else { 0.0 };
    let mut body = title.map_or_else(String::new, |title| {
        let shown = crate::numbers::short(title, (width / 8.6) as usize);
        format!(
            "<title>{}</title><text class=\"title\" x=\"4\" y=\"17\">{}</text>",
            escaped(title),
            escaped(&shown)
        )
    });
    for drawing in drawings {
        body += &drawing.trim_end().replacen("<svg ", &format!("<svg y=\"{}\" ", number(height)), 1);
        height += side(drawing, "height");
    }
    let (width, height) = (number(width), number(height));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tardy-plot\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\"><style>{STYLE}</style><rect class=\"paper\" width=\"{width}\" \
         height=\"{height}\"/>{body}</svg>\n"
    )
}

/// The attributes of a drawing.
#[derive(Clone, Debug)]
pub struct Head<'a> {
    /// Unique in a page.
    pub id: &'a str,
    /// Width in CSS pixels.
    pub width: f64,
    /// Height in CSS pixels.
    pub height: f64,
    /// Its title.
    pub title: &'a str,
    /// Its description, for screen readers.
    pub description: &'a str,
    /// Whether it includes its style sheet.
    pub standalone: bool,
    /// Attributes for the page's script: name after `data-`, and value.
    pub data: Vec<(&'static str, String)>,
}

/// A coordinate: one decimal, no trailing zero, no negative zero.
pub fn number(value: f64) -> String {
    tardy_analyse::stop::check();
    let rounded = (value * 10.0).round() / 10.0;
    if rounded == 0.0 { "0".to_owned() } else { format!("{rounded}") }
}

/// Text escaped for the inside of an element or an attribute.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in harmless(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// The commands of a path: absolute to begin a line, relative after that, which is shorter. Coordinates are rounded to
/// tenths of a pixel before they are subtracted, so errors do not add up.
#[derive(Clone, Debug, Default)]
pub struct Path {
    commands: String,
    /// The end of the line so far, in tenths.
    pen: Option<(i64, i64)>,
    /// A horizontal or vertical line that the next point may continue: its letter and its length in tenths.
    straight: Option<(char, i64)>,
    /// Whether the last command is a sloping line, whose letter need not be repeated.
    is_sloping: bool,
}

impl Path {
    /// Begins a line at a point.
    pub fn begin(&mut self, x: f64, y: f64) {
        self.end();
        let _ = write!(self.commands, "M{} {}", number(x), number(y));
        (self.pen, self.is_sloping) = (Some((tenths(x), tenths(y))), false);
    }

    /// Continues to a point, or begins there.
    pub fn to(&mut self, x: f64, y: f64) {
        let Some((from_x, from_y)) = self.pen else { return self.begin(x, y) };
        let (dx, dy) = (tenths(x) - from_x, tenths(y) - from_y);
        match (dx, dy) {
            (0, 0) => return,
            (dx, 0) => self.straight('h', dx),
            (0, dy) => self.straight('v', dy),
            (dx, dy) if self.is_sloping => self.numbers(true, &[dx, dy]),
            (dx, dy) => {
                self.command('l', &[dx, dy]);
                self.is_sloping = true;
            }
        }
        self.pen = Some((from_x + dx, from_y + dy));
    }

    /// Continues at a point without a line to it.
    pub fn skip_to(&mut self, x: f64, y: f64) {
        let Some((from_x, from_y)) = self.pen else { return self.begin(x, y) };
        self.command('m', &[tenths(x) - from_x, tenths(y) - from_y]);
        (self.pen, self.is_sloping) = (Some((tenths(x), tenths(y))), false);
    }

    /// Ends the line; the next point begins another.
    pub fn end(&mut self) {
        self.write_straight();
        self.pen = None;
    }

    /// A rectangle; the pen is at its upper left corner afterwards.
    pub fn rectangle(&mut self, left: f64, top: f64, right: f64, bottom: f64) {
        self.skip_to(left, top);
        self.to(right, top);
        self.to(right, bottom);
        self.to(left, bottom);
        self.write_straight();
        self.commands.push('z');
        (self.pen, self.is_sloping) = (Some((tenths(left), tenths(top))), false);
    }

    /// The commands.
    pub fn finish(mut self) -> String {
        self.write_straight();
        self.commands
    }

    /// Continues a straight line if it goes on in its direction, or begins another.
    fn straight(&mut self, letter: char, delta: i64) {
        match &mut self.straight {
            Some((last, length)) if *last == letter && length.signum() == delta.signum() => *length += delta,
            _ => {
                self.write_straight();
                self.straight = Some((letter, delta));
                self.is_sloping = false;
            }
        }
    }

    fn write_straight(&mut self) {
        if let Some((letter, length)) = self.straight.take() {
            self.commands.push(letter);
            self.numbers(false, &[length]);
        }
    }

    fn command(&mut self, letter: char, deltas: &[i64]) {
        self.write_straight();
        self.commands.push(letter);
        self.numbers(false, deltas);
    }

    fn numbers(&mut self, mut follows: bool, deltas: &[i64]) {
        for delta in deltas {
            if follows && *delta >= 0 {
                self.commands.push(' ');
            }
            let (sign, size) = (if *delta < 0 { "-" } else { "" }, delta.unsigned_abs());
            let _ = match (size / 10, size % 10) {
                (whole, 0) => write!(self.commands, "{sign}{whole}"),
                (0, tenth) => write!(self.commands, "{sign}.{tenth}"),
                (whole, tenth) => write!(self.commands, "{sign}{whole}.{tenth}"),
            };
            follows = true;
        }
    }
}

fn tenths(value: f64) -> i64 {
    (value * 10.0).round() as i64
}

/// A path through points, a straight line from each to the next; a new path begins after each `None`.
pub fn polyline(points: impl IntoIterator<Item = Option<(f64, f64)>>) -> String {
    let mut path = Path::default();
    for point in points {
        match point {
            Some((x, y)) => path.to(x, y),
            None => path.end(),
        }
    }
    path.finish()
}

/// The outline of a histogram: for each column from `x0` to `x1` the height `y`; columns that do not touch are
/// joined along `floor`.
pub fn steps(columns: &[(f64, f64, f64)], floor: f64) -> String {
    let mut path = Path::default();
    let mut end: Option<f64> = None;
    for (x0, x1, y) in columns {
        let touching = end.is_some_and(|end| (x0 - end).abs() < 0.05);
        let from = end.filter(|_| touching).unwrap_or(*x0);
        if !touching {
            if let Some(end) = end {
                path.to(end, floor);
            }
            path.skip_to(from, floor);
        }
        path.to(from, *y);
        path.to(*x1, *y);
        end = Some(*x1);
    }
    if let Some(end) = end {
        path.to(end, floor);
    }
    path.finish()
}
