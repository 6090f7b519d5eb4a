//! Plots for paper, and for programs that know no variables of style sheets.

use crate::STYLE;

/// The family of the font with which plots become PNG and PDF.
const FAMILY: &str = "Hack";

/// The plot in the light colours, on white. `tardy-picture` converts it.
pub fn for_print(svg: &str) -> String {
    svg.replace(STYLE, &style_for_print())
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
