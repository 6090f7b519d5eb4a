//! Boards whose lines can be written through registers that a program may map, without a system call.

use tardy_record::pins::Line;
use tardy_sys::gpio_registers::Registers;

/// The device that maps the page of GPIO registers and nothing else (bcm2835-gpiomem, of Raspberry Pi's own kernels).
pub const GPIOMEM: &str = "/dev/gpiomem";

/// A kind of chip behind [`GPIOMEM`].
struct Kind {
    /// What its driver calls it.
    label: &'static str,
    /// How many lines it has.
    lines: u32,
    /// The first of its registers that set lines, 32 in each; offsets in the page.
    set: usize,
    /// The same that clear them.
    clear: usize,
}

/// GPSET0 and GPCLR0: BCM2835 ARM Peripherals, section 6.1, and BCM2711 ARM Peripherals, section 5.2. The label of BCM2836
/// and BCM2837 is the first one's.
const KINDS: [Kind; 2] = [
    Kind { label: "pinctrl-bcm2835", lines: 54, set: 0x1c, clear: 0x28 },
    Kind { label: "pinctrl-bcm2711", lines: 58, set: 0x1c, clear: 0x28 },
];

/// The registers of `line`.
///
/// # Errors
/// In words, if its chip has none that are known.
pub fn registers(line: &Line) -> Result<Registers, String> {
    let Some(kind) = KINDS.iter().find(|kind| kind.label == line.label) else {
        let known = KINDS.map(|kind| kind.label).join(", ");
        return Err(format!(
            "gpiomem: the registers of {} ({}) are not known, only those of {known}, which Raspberry Pis up to the 4 have; \
             --through chardev works on any chip",
            line.chip, line.label
        ));
    };
    if line.offset >= kind.lines {
        return Err(format!(
            "gpiomem: {} is no line of a {}, which has {}",
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
    fn each_line_has_a_bit_of_its_own() {
        let line =
            |label: &str, offset| Line { chip: "gpiochip0".into(), label: label.into(), offset, name: None };
        let of = |offset| registers(&line("pinctrl-bcm2835", offset)).unwrap();
        assert_eq!(of(17), Registers { set: 0x1c, clear: 0x28, mask: 1 << 17 });
        assert_eq!(of(47), Registers { set: 0x20, clear: 0x2c, mask: 1 << 15 });
        assert!(registers(&line("pinctrl-bcm2835", 54)).unwrap_err().contains("which has 54"));
        assert!(registers(&line("pinctrl-rp1", 17)).unwrap_err().contains("are not known"));
    }
}
