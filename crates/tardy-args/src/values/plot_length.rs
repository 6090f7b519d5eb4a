//! Lengths of plots.

/// CSS pixels, of 1/96 inch each.
const PIXELS_PER_MM: f64 = 96.0 / 25.4;

/// The greatest width and height in pixels.
const LONGEST: f64 = 10_000.0;

/// A plot's width in CSS pixels, from 200 to 10,000: `860`, `860px`, `85mm`, `8.5cm`, `3.35in`.
pub fn plot_width(text: &str) -> Result<f64, String> {
    length(text, 200.0)
}

/// A plot's height, in the same units, from 150 pixels.
pub fn plot_height(text: &str) -> Result<f64, String> {
    length(text, 150.0)
}

fn length(text: &str, shortest: f64) -> Result<f64, String> {
    let wrong = || {
        let (from, to) = ((shortest / PIXELS_PER_MM).ceil(), (LONGEST / PIXELS_PER_MM).floor());
        format!(
            "'{text}' is not a length from {shortest} to {LONGEST} pixels ({from} to {to} mm), such as 860, 85mm, 8.5cm or 3.35in"
        )
    };
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let factor = match unit.trim() {
        "" | "px" => 1.0,
        "mm" => PIXELS_PER_MM,
        "cm" => 10.0 * PIXELS_PER_MM,
        "in" => 96.0,
        _ => return Err(wrong()),
    };
    let pixels = number.parse::<f64>().map_err(|_| wrong())? * factor;
    if (shortest..=LONGEST).contains(&pixels) { Ok(pixels) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_units() {
        assert_eq!(plot_width("860"), Ok(860.0));
        assert_eq!(plot_width("860px"), plot_width("860"));
        assert_eq!(plot_width("3.5in"), Ok(336.0));
        assert!((plot_width("25.4cm").unwrap() - 960.0).abs() < 1e-9);
        assert!((plot_width("254mm").unwrap() - 960.0).abs() < 1e-9);
        assert_eq!(plot_height("160"), Ok(160.0));
        for wrong in ["", "mm", "-5", "199", "10001", "8.5.1cm", "85pt", "39mm", "nan", "1e3"] {
            assert!(plot_width(wrong).is_err(), "{wrong}");
        }
        assert!(plot_width("52mm").unwrap_err().contains("200 to 10000 pixels (53 to 2645 mm)"));
    }
}
