//! Boards whose lines can be written without a system call, through registers that a program may map.

use tardy_record::pins::Line;
use tardy_sys::gpio_registers::Registers;

/// The device that maps only the page of GPIO registers (bcm2835-gpiomem, in Raspberry Pi's own kernels).
pub const GPIOMEM: &str = "/dev/gpiomem";

/// A kind of chip behind [`GPIOMEM`].
struct Kind {
    /// Its label from the driver.
    label: &'static str,
    /// The number of its lines.
    lines: u32,
    /// The offset in the page of the first register that sets lines, 32 lines each.
    set: usize,
    /// The offset in the page of the first register that clears lines, 32 lines each.
    clear: usize,
}

/// GPSET0 and GPCLR0: BCM2835 ARM Peripherals, section 6.1, and BCM2711 ARM Peripherals, section 5.2. BCM2836
/// and BCM2837 have the label of BCM2835.
const KINDS: [Kind; 2] = [
    Kind { label: "pinctrl-bcm2835", lines: 54, set: 0x1c, clear: 0x28 },
    Kind { label: "pinctrl-bcm2711", lines: 58, set: 0x1c, clear: 0x28 },
];

/// The registers of `line`.
///
/// # Errors
/// A message for the user, if the chip's registers are not known.
pub fn registers(line: &Line) -> Result<Registers, String> {
    let Some(kind) = KINDS.iter().find(|kind| kind.label == line.label) else {
        let known = KINDS.map(|kind| kind.label).join(", ");
        return Err(format!(
            "gpiomem: the registers of {} ({}) are not known; only those of {known} are, of Raspberry Pis up to the 4; \
             --through chardev works on any chip",
            line.chip, line.label
        ));
    };
    if line.offset >= kind.lines {
        return Err(format!(
            "gpiomem: {} is not a line of a {}, which has {}",
            line.place(),
            kind.label,
            kind.lines
        ));
    }
    let word = line.offset as usize / 32 * size_of::<u32>();
    Ok(Registers { set: kind.set + word, clear: kind.clear + word, mask: 1 << (line.offset % 32) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_its_own_bit() {
        let line =
            |label: &str, offset| Line { chip: "gpiochip0".into(), label: label.into(), offset, name: None };
        let of = |offset| registers(&line("pinctrl-bcm2835", offset)).unwrap();
        assert_eq!(of(17), Registers { set: 0x1c, clear: 0x28, mask: 1 << 17 });
        assert_eq!(of(47), Registers { set: 0x20, clear: 0x2c, mask: 1 << 15 });
        assert!(registers(&line("pinctrl-bcm2835", 54)).unwrap_err().contains("which has 54"));
        assert!(registers(&line("pinctrl-rp1", 17)).unwrap_err().contains("are not known"));
    }
}
