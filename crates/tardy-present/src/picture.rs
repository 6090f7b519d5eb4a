//! Plots as PNG and PDF, with a font that tardy contains: the machine needs none.
//!
//! The colours are those of the light style, as on paper.

use resvg::tiny_skia::{Pixmap, Transform};
use svg2pdf::usvg::{self, Tree};
use svg2pdf::{ConversionOptions, PageOptions};

use tardy_plot::STYLE;

/// The family of the font that tardy contains.
const FAMILY: &str = "Hack";
/// CSS pixels per inch.
const DPI: f32 = 96.0;
/// The largest number of pixels of a PNG along a side.
const SIDE_MAX: f32 = 32_768.0;

/// The drawing as PNG, with `scale` pixels for each CSS pixel.
///
/// # Errors
/// If the picture would be too large, or if the drawing cannot be converted: a message for the user.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, String> {
    let tree = tree(svg)?;
    let [width, height] = [tree.size().width(), tree.size().height()].map(|side| (side * scale).ceil());
    if width.max(height) > SIDE_MAX {
        return Err(format!(
            "a picture of {width} × {height} pixels is too large; use a lower --scale or --width"
        ));
    }
    let mut pixels = Pixmap::new(width as u32, height as u32).ok_or("the picture has no pixels")?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| format!("the plot cannot be written as PNG: {error}"))
}

/// The drawing as PDF of one page, with its text as text.
///
/// # Errors
/// If the drawing cannot be converted: a message for the user.
pub fn pdf(svg: &str) -> Result<Vec<u8>, String> {
    let page = PageOptions { dpi: DPI };
    svg2pdf::to_pdf(&tree(svg)?, ConversionOptions::default(), page)
        .map_err(|error| format!("the plot cannot be written as PDF: {error}"))
}

fn tree(svg: &str) -> Result<Tree, String> {
    let mut options = usvg::Options { font_family: FAMILY.to_owned(), ..usvg::Options::default() };
    options.fontdb_mut().load_font_data(epaint_default_fonts::HACK_REGULAR.to_vec());
    let svg = svg.replace(STYLE, &style_for_print());
    Tree::from_str(&svg, &options).map_err(|error| format!("the plot cannot be converted: {error}"))
}

/// The style sheet of plots with the light colours in place of variables, on white, and with the font that tardy contains.
/// All its letters are as wide as a wide one of other fonts, so it is smaller, and takes the room that plots leave for text.
fn style_for_print() -> String {
    let (definitions, rest) = STYLE.split_once('}').expect("the first rule defines the colours");
    let (_, definitions) = definitions.split_once('{').expect("it is a rule");
    // The rules for a dark background follow it.
    let (_, rules) = rest.split_once("}}").expect("the rules for dark backgrounds end");
    let mut style = format!(".tardy-plot{{font-family:{FAMILY};font-size:10px}}{rules}");
    for definition in definitions.split(';') {
        if let Some((name, value)) =
            definition.trim().split_once(':').filter(|(name, _)| name.starts_with("--"))
        {
            let value = if name == "--paper" { "#fff" } else { value };
            style = style.replace(&format!("var({name})"), value);
        }
    }
    style
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_for_print_has_no_variables_and_no_media() {
        let style = style_for_print();
        assert!(!style.contains("var(") && !style.contains("--") && !style.contains('@'), "{style}");
        assert!(style.contains(".tardy-plot .s0{stroke:#0b6bab}"), "{style}");
    }
}
