//! Lines in sysfs (`/sys/class/gpio`), the interface before the character device
//! (Documentation/ABI/obsolete/sysfs-gpio). A line has a machine-wide number. Once exported by that number, it has its
//! own files.
//!
//! A line stays exported after its process has died; the guard releases it.

use std::path::Path;

use tardy_record::pins::Line;
use tardy_sys::gpio_sysfs::ValueFile;
use tardy_sys::kernel_files::KernelFiles;

const CLASS: &str = "/sys/class/gpio";
const DEVICES: &str = "/sys/bus/gpio/devices";

/// The number of `line`: that of its chip's first line plus its offset on the chip.
///
/// # Errors
/// A message for the user, if the kernel has no such interface, or no such chip in it.
pub fn number(files: &KernelFiles, line: &Line) -> Result<u32, String> {
    if !files.exists(&format!("{CLASS}/export")) {
        return Err(format!(
            "this kernel has no {CLASS}: many kernels leave out this old interface (CONFIG_GPIO_SYSFS); \
             the character device does not need it"
        ));
    }
    let path = |path: String| files.resolve(&path).canonicalize().ok();
    let device = path(format!("{DEVICES}/{}", line.chip));
    // The two are related only through their common device.
    let parent = device.as_deref().and_then(Path::parent);
    let chips = files.names(CLASS).map_err(|error| error.to_string())?;
    for chip in chips.iter().filter(|name| name.starts_with("gpiochip")) {
        let of = path(format!("{CLASS}/{chip}/device"));
        let same_device = of.is_some() && (of.as_deref() == parent || of == device);
        let label = files.text(&format!("{CLASS}/{chip}/label")).unwrap_or_default();
        if same_device && label == line.label {
            let base: u32 =
                files.number(&format!("{CLASS}/{chip}/base")).map_err(|error| error.to_string())?;
            return Ok(base + line.offset);
        }
    }
    Err(format!("{} ({}) is not in {CLASS}; the character device does not need it", line.chip, line.label))
}

/// Exports `line` as an input whose rising edges can be waited for.
///
/// # Errors
/// A message for the user, if the line is in use or cannot interrupt.
pub fn input_with_edges(files: &KernelFiles, line: &Line) -> Result<ValueFile, String> {
    let directory = export(files, line)?;
    set(files, &directory, "direction", "in")?;
    set(files, &directory, "edge", "rising").map_err(|error| {
        format!("{error}; a line that cannot interrupt has no edges: --answer-by busy needs no interrupt")
    })?;
    value(files, &directory, false)
}

/// Exports `line` as an output that is low.
///
/// # Errors
/// A message for the user, if the line is in use.
pub fn output_low(files: &KernelFiles, line: &Line) -> Result<ValueFile, String> {
    let directory = export(files, line)?;
    set(files, &directory, "direction", "low")?;
    value(files, &directory, true)
}

/// Makes line `number` an input and unexports it. Returns whether it was exported.
///
/// # Errors
/// A message for the user.
pub fn unexport(files: &KernelFiles, number: u32, line: &Line) -> Result<bool, String> {
    let Some(directory) = directory(files, number, line) else { return Ok(false) };
    let made_input = set(files, &directory, "direction", "in");
    files.write(&format!("{CLASS}/unexport"), &number.to_string()).map_err(|error| error.to_string())?;
    made_input.map(|()| true)
}

fn export(files: &KernelFiles, line: &Line) -> Result<String, String> {
    let number = number(files, line)?;
    files.write(&format!("{CLASS}/export"), &number.to_string()).map_err(|error| {
        format!("{} cannot be exported as {number}: {error}; another process may be using it", line.place())
    })?;
    directory(files, number, line)
        .ok_or_else(|| format!("{} was exported as {number} but has no directory in {CLASS}", line.place()))
}

/// The files of an exported line. Their directory is called by its number, or by the name from its driver
/// (gpiod_export()).
fn directory(files: &KernelFiles, number: u32, line: &Line) -> Option<String> {
    let named = line.name.iter().cloned();
    let names = std::iter::once(format!("gpio{number}")).chain(named.filter(|name| !name.contains('/')));
    names.map(|name| format!("{CLASS}/{name}")).find(|path| files.exists(&format!("{path}/value")))
}

fn set(files: &KernelFiles, directory: &str, file: &str, text: &str) -> Result<(), String> {
    files.write(&format!("{directory}/{file}"), text).map_err(|error| format!("{error} ('{text}')"))
}

fn value(files: &KernelFiles, directory: &str, driven: bool) -> Result<ValueFile, String> {
    let path = files.resolve(&format!("{directory}/value"));
    ValueFile::open(&path, driven).map_err(|error| format!("{} cannot be opened: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn line(offset: u32, name: Option<&str>) -> Line {
        let name = name.map(str::to_owned);
        Line { chip: "gpiochip1".into(), label: "expander".into(), offset, name }
    }

    /// Two chips of one device, and another.
    fn tree() -> (tempfile::TempDir, KernelFiles) {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(at(DEVICES)).unwrap();
        for (device, chip, base, label) in [
            ("soc/a", "gpiochip0", 512, "a"),
            ("soc/b", "gpiochip1", 600, "expander"),
            ("soc/b", "gpiochip2", 632, "x"),
        ] {
            let of = at("/sys/devices").join(device);
            fs::create_dir_all(of.join(chip)).unwrap();
            let class = at(CLASS).join(format!("gpiochip{base}"));
            fs::create_dir_all(&class).unwrap();
            symlink(&of, class.join("device")).unwrap();
            fs::write(class.join("label"), format!("{label}\n")).unwrap();
            fs::write(class.join("base"), format!("{base}\n")).unwrap();
            symlink(of.join(chip), at(DEVICES).join(chip)).unwrap();
        }
        for command in ["export", "unexport"] {
            fs::write(at(CLASS).join(command), "").unwrap();
        }
        let files = KernelFiles::under(root.path());
        (root, files)
    }

    #[test]
    fn a_line_has_the_number_of_its_chip_plus_its_own() {
        let (root, files) = tree();
        assert_eq!(number(&files, &line(3, None)), Ok(603));
        let stranger = Line { chip: "gpiochip7".into(), ..line(0, None) };
        assert!(number(&files, &stranger).unwrap_err().contains("gpiochip7 (expander) is not in"));
        fs::remove_file(root.path().join("sys/class/gpio/export")).unwrap();
        assert!(number(&files, &line(3, None)).unwrap_err().contains("CONFIG_GPIO_SYSFS"));
    }

    #[test]
    fn an_exported_line_is_found_by_number_or_name_and_released() {
        let (root, files) = tree();
        for (directory, name) in [("gpio603", None), ("reset", Some("reset"))] {
            let exported = root.path().join("sys/class/gpio").join(directory);
            fs::create_dir_all(&exported).unwrap();
            for file in ["value", "direction", "edge"] {
                fs::write(exported.join(file), "0\n").unwrap();
            }
            let line = line(3, name);
            input_with_edges(&files, &line).unwrap();
            let text = |file: &str| fs::read_to_string(exported.join(file)).unwrap();
            assert_eq!((text("direction").trim(), text("edge").trim()), ("in", "rising"));
            output_low(&files, &line).unwrap();
            assert_eq!(text("direction").trim(), "low");
            assert_eq!(unexport(&files, 603, &line), Ok(true));
            assert_eq!(text("direction").trim(), "in");
            let unexported = fs::read_to_string(root.path().join("sys/class/gpio/unexport")).unwrap();
            assert_eq!(unexported.trim(), "603");
            fs::remove_dir_all(&exported).unwrap();
            assert_eq!(unexport(&files, 603, &line), Ok(false), "it is not exported");
        }
    }
}
