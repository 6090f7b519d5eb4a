//! docs/articles.md lists every recipe and every published result.

use std::fs;
use std::path::Path;

fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn no_recipe_and_no_published_result_is_missing_from_the_articles() {
    let articles = fs::read_to_string(project().join("docs/articles.md")).unwrap();
    let published: toml::Table =
        toml::from_str(&fs::read_to_string(project().join("data/published.toml")).unwrap()).unwrap();
    let results = published["result"].as_array().unwrap();
    assert!(results.len() >= 31, "published results were lost: {}", results.len());
    for result in results {
        let id = result["id"].as_str().unwrap();
        assert!(
            articles.contains(&format!("`{id}`")),
            "docs/articles.md does not list the published result `{id}`"
        );
    }
    for entry in fs::read_dir(project().join("recipes")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(
            articles.contains(&format!("recipes/{name}")),
            "docs/articles.md does not list recipes/{name}"
        );
    }
}

#[test]
fn recipes_name_published_results_that_exist() {
    let published: toml::Table =
        toml::from_str(&fs::read_to_string(project().join("data/published.toml")).unwrap()).unwrap();
    let ids: Vec<&str> =
        published["result"].as_array().unwrap().iter().map(|result| result["id"].as_str().unwrap()).collect();
    for entry in fs::read_dir(project().join("recipes")).unwrap() {
        let path = entry.unwrap().path();
        let recipe: toml::Table = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for id in recipe.get("published").and_then(|ids| ids.as_array()).into_iter().flatten() {
            assert!(ids.contains(&id.as_str().unwrap()), "{}: no published result {id}", path.display());
        }
    }
}
