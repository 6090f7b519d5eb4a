//! The header pin to which a line is connected: the user sees the board, not the chip.

/// The 40-pin header of Raspberry Pis since the 1 B+: the GPIO number at each pin, from pin 1; `None` for power, ground
/// and pins 27 and 28, which are reserved for an add-on board's EEPROM (GPIOs 0 and 1). Source: the board's
/// documentation, "GPIO and the 40-pin header".
const RASPBERRY_PI_40: [Option<u32>; 40] = [
    None,
    None,
    Some(2),
    None,
    Some(3),
    None,
    Some(4),
    Some(14),
    None,
    Some(15), //
    Some(17),
    Some(18),
    Some(27),
    None,
    Some(22),
    Some(23),
    None,
    Some(24),
    Some(10),
    None, //
    Some(9),
    Some(25),
    Some(11),
    Some(8),
    None,
    Some(7),
    Some(0),
    Some(1),
    Some(5),
    None, //
    Some(6),
    Some(12),
    Some(13),
    None,
    Some(19),
    Some(16),
    Some(26),
    Some(20),
    None,
    Some(21),
];

/// Driver labels of the chips behind that header: BCM2835 to 2837, BCM2711, and the RP1 of the Pi 5.
const RASPBERRY_PI_CHIPS: [&str; 3] = ["pinctrl-bcm2835", "pinctrl-bcm2711", "pinctrl-rp1"];

/// The header pin of line `offset` of a chip with that label on `board`, such as `pin 11 of the 40-pin header`; `None`
/// if the board is unknown or the line is not on the header.
pub fn pin(board: Option<&str>, label: &str, offset: u32) -> Option<String> {
    if !board?.starts_with("Raspberry Pi") || !RASPBERRY_PI_CHIPS.contains(&label) {
        return None;
    }
    let index = RASPBERRY_PI_40.iter().position(|gpio| *gpio == Some(offset))?;
    Some(format!("pin {} of the 40-pin header", index + 1))
}

/// Whether the line's name in the device tree shows that it belongs to a part on the board, such as an LED or a
/// regulator, and not to a header pin. A line without a name may be either, so the result is false.
pub fn is_something_else(name: Option<&str>) -> bool {
    /// Prefixes of header pins' names, which are numbers or the bus that may use the pin.
    const OF_HEADERS: [&str; 12] =
        ["GPIO", "ID_SD", "ID_SC", "SDA", "SCL", "SPI", "TXD", "RXD", "PIN", "P8_", "P9_", "CON"];
    name.is_some_and(|name| {
        let known = OF_HEADERS.iter().any(|prefix| name.to_uppercase().starts_with(prefix));
        !known && !name.starts_with(|first: char| first.is_ascii_digit()) && name != "-"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_pins_match_the_boards() {
        let pin = |offset| pin(Some("Raspberry Pi 3 Model B Plus Rev 1.3"), "pinctrl-bcm2835", offset);
        assert_eq!(pin(17).as_deref(), Some("pin 11 of the 40-pin header"));
        assert_eq!(pin(21).as_deref(), Some("pin 40 of the 40-pin header"));
        assert_eq!(pin(47), None, "the LED");
        assert_eq!(super::pin(Some("Some board"), "pinctrl-bcm2835", 17), None);
        assert_eq!(super::pin(None, "pinctrl-bcm2835", 17), None);
        let mut gpios: Vec<u32> = RASPBERRY_PI_40.into_iter().flatten().collect();
        gpios.sort_unstable();
        assert_eq!(gpios, (0..=27).collect::<Vec<u32>>(), "each GPIO from 0 to 27 is at one pin");
    }

    #[test]
    fn an_led_is_not_a_header_pin() {
        for name in ["STATUS_LED", "ACT_LED", "WL_ON", "CAM_GPIO0", "PWR_LOW_N"] {
            assert!(is_something_else(Some(name)), "{name}");
        }
        for name in ["GPIO17", "ID_SDA", "SPI_CE0_N", "P9_12", "TXD0", "PIN11"] {
            assert!(!is_something_else(Some(name)), "{name}");
        }
        assert!(!is_something_else(None));
    }
}
