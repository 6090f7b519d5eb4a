//! Disciplines below the shaper: set by one `apply`, left alone by the next, changed, and removed, while the gates go on.

use super::{BRIDGED, TWO_FLOWS};
use crate::scripted::Scene;

const SCRIPT: &str = r#"
cable swp0 talker 2
cable swp1 listener 2
shown() { tc qdisc show dev swp1 | sed -n 's/ root / parent root /; s/^qdisc \(etf\|cbs\) [^ ]* parent/child \1/p'; echo timers $(timers); }
everything > /tmp/before
part set; answer tardy tsn apply $FILES/both.toml; shown
part again; answer tardy tsn apply $FILES/both.toml
part changed; answer tardy tsn apply $FILES/one.toml; shown
part gone; answer tardy tsn apply $FILES/none.toml; shown
part removed; answer tardy tsn remove
part as before; as_in /tmp/before
"#;

/// The file with these keys in the first class and in the second.
fn file(blue: &str, red: &str) -> String {
    let with = |text: &str, class: &str, keys: &str| {
        let head = format!("[[class]]\nname = \"{class}\"\n");
        assert!(text.contains(&head), "{text}");
        text.replace(&head, &format!("{head}{keys}\n"))
    };
    with(&with(TWO_FLOWS, "blue", blue), "red", red)
}

/// The scene of this file.
pub(super) fn scene() -> Scene {
    let (etf, cbs) = ("etf_delta = \"300us\"", "idle_slope = \"20Mbit/s\"");
    let files = [
        ("both.toml", file(etf, cbs)),
        ("one.toml", file("", "idle_slope = \"30Mbit/s\"")),
        ("none.toml", TWO_FLOWS.to_owned()),
    ];
    Scene {
        files: files.map(|(name, text)| (name.to_owned(), text)).to_vec(),
        ..super::scene("children", SCRIPT, &[])
    }
}

#[test]
fn disciplines_below_the_shaper_are_set_changed_and_removed() {
    let Some(printed) = BRIDGED.scene("children") else { return };
    let children = |part: &str| -> Vec<String> {
        let part = printed.part(part);
        assert_eq!((part.status(), part.number("timers")), (0, 1), "{}", part.text());
        part.all("child").map(str::to_owned).collect()
    };
    let both = children("set");
    assert!(
        matches!(&both[..], [etf, cbs] if etf.starts_with("etf 7514:1 ") && etf.contains("delta 300000") && cbs.starts_with("cbs 7514:2 ")
            && cbs.contains("sendslope -80000 idleslope 20000")),
        "{both:?}"
    );
    assert!(printed.part("again").text().contains("nothing was changed"), "{}", printed.part("again").text());
    let one = children("changed");
    assert!(matches!(&one[..], [cbs] if cbs.contains("idleslope 30000")), "{one:?}");
    assert_eq!(children("gone"), Vec::<String>::new());
    for part in ["removed", "as before"] {
        assert_eq!(printed.part(part).status(), 0, "{}", printed.part(part).text());
    }
}
