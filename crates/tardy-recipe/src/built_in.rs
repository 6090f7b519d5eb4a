//! The recipes that are part of tardy.

/// Name and text of each, in the order of the documentation.
pub(super) const BUILT_IN: [(&str, &str); 18] = [
    ("quick", include_str!("../../../recipes/quick.toml")),
    ("noise", include_str!("../../../recipes/noise.toml")),
    ("osadl", include_str!("../../../recipes/osadl.toml")),
    ("rpi3-4.9", include_str!("../../../recipes/rpi3-4.9.toml")),
    ("rpi3-4.14", include_str!("../../../recipes/rpi3-4.14.toml")),
    ("rpi1-loaded", include_str!("../../../recipes/rpi1-loaded.toml")),
    ("rpi1-wiggle", include_str!("../../../recipes/rpi1-wiggle.toml")),
    ("at91-timers", include_str!("../../../recipes/at91-timers.toml")),
    ("at91-gpio", include_str!("../../../recipes/at91-gpio.toml")),
    ("at91-xenomai", include_str!("../../../recipes/at91-xenomai.toml")),
    ("lab-doload", include_str!("../../../recipes/lab-doload.toml")),
    ("lab-quick", include_str!("../../../recipes/lab-quick.toml")),
    ("lab-full", include_str!("../../../recipes/lab-full.toml")),
    ("lab-rpi3", include_str!("../../../recipes/lab-rpi3.toml")),
    ("lab-rpi1", include_str!("../../../recipes/lab-rpi1.toml")),
    ("lab-at91-timers", include_str!("../../../recipes/lab-at91-timers.toml")),
    ("lab-at91-gpio", include_str!("../../../recipes/lab-at91-gpio.toml")),
    ("lab-at91-levels", include_str!("../../../recipes/lab-at91-levels.toml")),
];
