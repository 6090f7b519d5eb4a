//! Plots as PNG and PDF, with a font that this crate contains: the machine needs none.
//!
//! Their style sheet names colours and not variables, which resvg does not know: `tardy_plot::print::for_print` writes it.

use resvg::tiny_skia::{Pixmap, Transform};
use svg2pdf::usvg::{self, Tree};
use svg2pdf::{ConversionOptions, PageOptions};

/// The family of the font that this crate contains.
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
    Tree::from_str(svg, &options).map_err(|error| format!("the plot cannot be converted: {error}"))
}
