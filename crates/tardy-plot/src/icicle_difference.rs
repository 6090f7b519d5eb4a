//! The plot of two explained wake-ups against each other: the functions of both by who called them, and in which of the two they
//! have more instructions.

use tardy_compare::explanations::Merged;

use super::Options;
use super::icicle::{FunctionBox, area};
use super::numbers::{count, harmless};
use super::scale::Scale;
use super::svg::{Anchor, Head, Svg};

/// Draws the functions. Each is as wide as it is in the wake-up in which it has more instructions.
pub fn draw(id: &str, title: &str, functions: &[Merged], options: &Options) -> String {
    let depth = functions.iter().map(rows).max().unwrap_or(0);
    let area = area(options.width, depth);
    let all: u64 = functions.iter().map(|function| function.width).sum();
    let x = Scale::linear(0.0, all.max(1) as f64, area.left, area.right);
    let mut svg = Svg::default();
    svg.text("title", (4.0, 16.0), Anchor::Start, title);
    let ticks = x.ticks(if options.narrow() { 4 } else { 8 });
    svg.open("axis");
    area.vertical_grid(&mut svg, &x, &ticks, |instructions| count(instructions as u64));
    area.name_x(&mut svg, "instructions, of A or B, whichever has more");
    svg.close();
    svg.open("calls");
    let mut start = 0;
    for function in functions {
        draw_function(&mut svg, &x, function, 0, start);
        start += function.width;
    }
    svg.close();
    svg.finish(&Head {
        id,
        width: options.width,
        height: area.bottom + 40.0,
        title,
        description: "Each box is a function; the box above it is the function that called it. Its colour says whether A or B has more \
                      instructions in it alone.",
        standalone: options.standalone,
        data: vec![("kind", "icicle".to_owned())],
    })
}

fn rows(function: &Merged) -> usize {
    1 + function.inner.iter().map(rows).max().unwrap_or(0)
}

fn draw_function(svg: &mut Svg, x: &Scale, function: &Merged, depth: usize, start: u64) {
    let name = harmless(&function.name);
    let [own, total, calls] = [function.own, function.total, function.calls].map(|pair| pair.map(count));
    let about = format!(
        "{name}: {} instructions of its own in A, {} in B; {} and {} with what it called; {} and {} calls",
        own[0], own[1], total[0], total[1], calls[0], calls[1]
    );
    let class = class(function);
    FunctionBox { class, name, about, depth, start, instructions: function.width }.draw(svg, x, 1.0);
    let mut start = start;
    for inner in &function.inner {
        draw_function(svg, x, inner, depth + 1, start);
        start += inner.width;
    }
}

fn class(function: &Merged) -> &'static str {
    match (function.total, function.own) {
        ([_, 0], _) => "call only-a",
        ([0, _], _) => "call only-b",
        (_, [a, b]) if a > b => "call more-a",
        (_, [a, b]) if a < b => "call more-b",
        _ => "call",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, own: [u64; 2], inner: Vec<Merged>) -> Merged {
        let total = [0, 1].map(|side| own[side] + inner.iter().map(|one| one.total[side]).sum::<u64>());
        let width = own[0].max(own[1]) + inner.iter().map(|one| one.width).sum::<u64>();
        Merged { name: name.to_owned(), calls: [1; 2], own, total, width, inner }
    }

    #[test]
    fn the_colour_says_where_a_function_has_more() {
        for (own, expected) in [
            ([5, 0], "call only-a"),
            ([0, 5], "call only-b"),
            ([6, 5], "call more-a"),
            ([5, 6], "call more-b"),
            ([5, 5], "call"),
        ] {
            assert_eq!(class(&function("f", own, Vec::new())), expected);
        }
    }

    #[test]
    fn what_is_called_lies_within_its_caller() {
        let tree = [function("outer", [4, 6], vec![function("inner", [0, 6], Vec::new())])];
        let svg = draw("id", "Difference", &tree, &Options::default());
        assert!(
            svg.contains("outer: 4 instructions of its own in A, 6 in B; 4 and 12 with what it called"),
            "{svg}"
        );
        assert!(
            svg.contains("data-from=\"0\" data-of=\"12\"") && svg.contains("data-from=\"0\" data-of=\"6\""),
            "{svg}"
        );
        assert!(svg.contains("only-b"), "{svg}");
    }
}
