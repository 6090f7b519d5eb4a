//! The report allows its own style and script, and nothing else.

use crate::hash;
use tardy_present::report::{EXPLANATION, SCRIPT, SCRIPT_HASH, STYLE, STYLE_HASH, WITH_FORMS};

#[test]
fn the_policy_has_the_hashes_of_the_style_and_the_script() {
    let bless = "the style or the script has changed: run `cargo test -p tardy-present --test all bless::hashes -- --ignored`";
    assert_eq!(STYLE_HASH.trim(), hash::of(STYLE), "{bless}");
    assert_eq!(SCRIPT_HASH.trim(), hash::of(SCRIPT), "{bless}");
    assert_eq!(WITH_FORMS.style_hash, hash::of(WITH_FORMS.style), "{bless}");
    assert_eq!(EXPLANATION.style_hash, hash::of(EXPLANATION.style), "{bless}");
    assert_eq!(EXPLANATION.script_hash, hash::of(EXPLANATION.script), "{bless}");
}

#[test]
fn the_hash_is_the_one_that_browsers_compute() {
    assert_eq!(hash::of("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
}
