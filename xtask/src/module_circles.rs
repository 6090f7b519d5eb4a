//! No module needs a module that needs it, other than a parent and the modules inside it.
//!
//! Modules in a circle can be understood, tested and moved only together. Two graphs are checked. In the first, without the
//! crate's root, a circle may consist of one module and its descendants. In the second, without references between a module and
//! its descendants, there may be no circle, so children of one parent have none among themselves.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::rust_modules::{ModulePath, Reference, crates_of};
use crate::{Complaint, Repository};

type References = BTreeMap<(ModulePath, ModulePath), Reference>;

/// Looks for circles in each crate.
pub fn check(repository: &Repository) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (krate, modules) in crates_of(repository) {
        complaints.extend(circles(&modules.references()).iter().map(|circle| describe(&krate, circle)));
    }
    complaints
}

/// A module, and where it refers to the next one.
type Step<'references> = (&'references ModulePath, &'references Reference);

/// A circle: each module with its reference to the next, the last one's to the first.
#[derive(Debug)]
struct Circle<'references> {
    steps: Vec<Step<'references>>,
    /// How many modules need each other, those of the circle included.
    entangled: usize,
}

fn describe(krate: &str, circle: &Circle<'_>) -> Complaint {
    let name = |module: &ModulePath| if module.is_empty() { "crate".to_owned() } else { module.join("::") };
    let names: Vec<String> =
        circle.steps.iter().chain(circle.steps.first()).map(|(module, _)| name(module)).collect();
    let places: Vec<String> =
        circle.steps.iter().map(|(_, place)| format!("{}:{}", place.file, place.line)).collect();
    let others = match circle.entangled - circle.steps.len() {
        0 => String::new(),
        1 => "; one more module is entangled with these".to_owned(),
        more => format!("; {more} more modules are entangled with these"),
    };
    format!(
        "{krate}: modules need each other: {} ({}){others}. Move what both need into a module that needs neither",
        names.join(" → "),
        places.join(", ")
    )
}

/// Whether one of the two is the other or is inside it.
fn is_family(a: &ModulePath, b: &ModulePath) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

/// The shortest circle of each set of modules that need each other and may not.
fn circles(references: &References) -> Vec<Circle<'_>> {
    let between = |keep: &dyn Fn(&ModulePath, &ModulePath) -> bool| -> Graph<'_> {
        let mut graph = Graph::new();
        for ((from, to), place) in references.iter().filter(|((from, to), _)| keep(from, to)) {
            graph.entry(from).or_default().insert(to, place);
        }
        graph
    };
    let strangers = between(&|from, to| !is_family(from, to));
    let mut sets = entangled(&strangers);
    let mut found: Vec<Circle<'_>> = sets.iter().filter_map(|set| shortest_circle(&strangers, set)).collect();
    let all = between(&|from, to| !from.is_empty() && !to.is_empty());
    for set in entangled(&all) {
        let has_head = set.iter().any(|head| set.iter().all(|module| module.starts_with(head.as_slice())));
        let is_known = sets.iter().any(|known| known.is_subset(&set));
        if !has_head && !is_known {
            found.extend(shortest_circle(&all, &set));
            sets.push(set);
        }
    }
    found
}

type Graph<'references> =
    BTreeMap<&'references ModulePath, BTreeMap<&'references ModulePath, &'references Reference>>;

/// The sets of modules that reach each other, of more than one module each.
fn entangled<'r>(graph: &Graph<'r>) -> Vec<BTreeSet<&'r ModulePath>> {
    let reach: BTreeMap<&ModulePath, BTreeSet<&'r ModulePath>> =
        graph.keys().map(|&from| (from, reachable(graph, from))).collect();
    let mut sets: Vec<BTreeSet<&'r ModulePath>> = Vec::new();
    for (&from, reached) in &reach {
        if reached.contains(from) && !sets.iter().any(|set| set.contains(from)) {
            let back = |to: &&&'r ModulePath| reach.get(**to).is_some_and(|reached| reached.contains(from));
            sets.push(reached.iter().filter(back).copied().collect());
        }
    }
    sets
}

/// Every module that `from` needs, directly or through others; `from` itself only if it is in a circle.
fn reachable<'r>(graph: &Graph<'r>, from: &ModulePath) -> BTreeSet<&'r ModulePath> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&ModulePath> = vec![from];
    while let Some(module) = open.pop() {
        for &next in graph.get(module).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

/// The shortest circle in `set` that is not only a module and its descendants.
fn shortest_circle<'r>(graph: &Graph<'r>, set: &BTreeSet<&'r ModulePath>) -> Option<Circle<'r>> {
    let strangers = set.iter().flat_map(|&from| {
        let references = graph.get(from).into_iter().flatten();
        references.filter(move |(to, _)| !is_family(from, to)).map(move |(&to, &place)| (from, to, place))
    });
    let circles = strangers.filter_map(|(from, to, place)| {
        let way_back = shortest_way(graph, to, from)?;
        Some([(from, place)].into_iter().chain(way_back).collect::<Vec<_>>())
    });
    Some(Circle { steps: circles.min_by_key(Vec::len)?, entangled: set.len() })
}

/// The shortest path from `start` to `end`, each module with its reference to the next, without `end`.
fn shortest_way<'r>(graph: &Graph<'r>, start: &'r ModulePath, end: &ModulePath) -> Option<Vec<Step<'r>>> {
    let mut came_from: BTreeMap<&ModulePath, Step<'r>> = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(module) = open.pop_front() {
        for (&next, &place) in graph.get(module).into_iter().flatten() {
            if next != start && !came_from.contains_key(next) {
                came_from.insert(next, (module, place));
                open.push_back(next);
            }
        }
    }
    let mut steps = vec![*came_from.get(end)?];
    while steps.last().is_some_and(|(module, _)| *module != start) {
        steps.push(*came_from.get(steps.last()?.0)?);
    }
    steps.reverse();
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(files: &[(&str, &str)]) -> Vec<Complaint> {
        check(&Repository::of(files))
    }

    #[test]
    fn a_circle_is_shown_with_its_places() {
        let found = complaints(&[
            ("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;"),
            ("crates/x/src/a.rs", "use crate::b::T;"),
            ("crates/x/src/b.rs", "\nuse super::c::f;\nstruct T;"),
            ("crates/x/src/c.rs", "\n\nfn f() { crate::a::g() }"),
        ]);
        assert_eq!(
            found,
            ["crates/x: modules need each other: a → b → c → a (crates/x/src/a.rs:1, crates/x/src/b.rs:2, \
              crates/x/src/c.rs:3). Move what both need into a module that needs neither"]
        );
    }

    #[test]
    fn a_parent_and_its_children_may_need_each_other() {
        let found = complaints(&[
            ("crates/x/src/lib.rs", "mod a;\npub fn root() { a::f() }"),
            ("crates/x/src/a.rs", "mod b;\nmod c;\npub fn f() { b::g(); c::h(); crate::root() }"),
            ("crates/x/src/a/b.rs", "use super::f;\npub fn g() {}"),
            ("crates/x/src/a/c.rs", "use super::b::g;\npub fn h() { super::f() }"),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn children_of_one_parent_may_not_need_each_other() {
        let found = complaints(&[
            ("crates/x/src/lib.rs", "mod a;"),
            ("crates/x/src/a.rs", "mod b;\nmod c;\nmod d;\nfn f() { b::g() }"),
            ("crates/x/src/a/b.rs", "use super::c::h;"),
            ("crates/x/src/a/c.rs", "use super::b::g;\nuse super::d::i;"),
            ("crates/x/src/a/d.rs", "use super::b::g;"),
        ]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("a::b → a::c → a::b"), "{}", found[0]);
        assert!(found[0].contains("one more module is"), "{}", found[0]);
    }

    #[test]
    fn a_child_closes_the_circle_of_its_parent() {
        let found = complaints(&[
            ("crates/x/src/lib.rs", "mod a;\nmod b;"),
            ("crates/x/src/a.rs", "mod c;\nuse crate::b::T;"),
            ("crates/x/src/a/c.rs", "use super::f;"),
            ("crates/x/src/b.rs", "use crate::a::c::g;"),
        ]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("a → b → a::c → a"), "{}", found[0]);
    }
}
