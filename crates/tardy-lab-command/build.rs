//! Names the build.

#[path = "../tardy-identity/name_the_build.rs"]
mod name_the_build;

fn main() {
    name_the_build::name_the_build();
}
