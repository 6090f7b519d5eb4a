//! PWM outputs in sysfs (Documentation/driver-api/pwm.rst, "Using PWMs with the sysfs interface"): a stimulus that
//! needs no Linux thread.
//!
//! A PWM output stays enabled after the process that enabled it has died; the pin guard stops it.

use tardy_sys::kernel_files::KernelFiles;

const CLASS: &str = "/sys/class/pwm";

/// The output that `text` names, as in `pwmchip0:1`; `None` if it names something else.
pub fn parse(text: &str) -> Option<(String, u32)> {
    let (chip, channel) = text.split_once(':')?;
    let number = chip.strip_prefix("pwmchip")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    Some((chip.to_owned(), channel.parse().ok()?)).filter(|_| is_number)
}

/// Checks that `channel` of `chip` exists and is unused.
///
/// # Errors
/// A message for the user: the reason why it cannot be used.
pub fn find(files: &KernelFiles, chip: &str, channel: u32) -> Result<(), String> {
    let count: u32 = files.number(&format!("{CLASS}/{chip}/npwm")).map_err(|_| {
        let known = files.names(CLASS).unwrap_or_default();
        match known.as_slice() {
            [] => format!("there is no {chip}: this machine has no PWM controller in {CLASS}"),
            known => format!("there is no PWM controller {chip}; this machine has {}", known.join(", ")),
        }
    })?;
    if channel >= count {
        return Err(format!("{chip} has channels 0 to {}, not {channel}", count.saturating_sub(1)));
    }
    if exported(files, chip, channel) {
        return Err(format!(
            "channel {channel} of {chip} is in use; stop its user, or write {channel} to {CLASS}/{chip}/unexport"
        ));
    }
    Ok(())
}

/// Starts a square wave of period `period_ns` on `channel` of `chip`.
///
/// # Errors
/// If the output does not exist, is in use, or does not support the period.
pub fn start(files: &KernelFiles, chip: &str, channel: u32, period_ns: u64) -> Result<(), String> {
    find(files, chip, channel)?;
    let report = |error| format!("the PWM output {chip}:{channel}: {error}");
    let write = |file: String, text: String| {
        let outcome = files.write(&format!("{CLASS}/{chip}/{file}"), &text);
        outcome.map_err(|error| report(format!("{error} ('{text}')")))
    };
    write("export".to_owned(), channel.to_string())?;
    let of_channel = |file: &str| format!("pwm{channel}/{file}");
    write(of_channel("period"), period_ns.to_string())?;
    write(of_channel("duty_cycle"), (period_ns / 2).to_string())?;
    write(of_channel("enable"), "1".to_owned())
}

/// Stops the output if it is set up; returns whether it was.
///
/// # Errors
/// The kernel's error.
pub fn stop(files: &KernelFiles, chip: &str, channel: u32) -> Result<bool, String> {
    if !exported(files, chip, channel) {
        return Ok(false);
    }
    let stopped = files.write(&format!("{CLASS}/{chip}/pwm{channel}/enable"), "0");
    files
        .write(&format!("{CLASS}/{chip}/unexport"), &channel.to_string())
        .map_err(|error| error.to_string())?;
    stopped.map(|()| true).map_err(|error| error.to_string())
}

fn exported(files: &KernelFiles, chip: &str, channel: u32) -> bool {
    files.exists(&format!("{CLASS}/{chip}/pwm{channel}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_output_is_named_by_controller_and_channel() {
        assert_eq!(parse("pwmchip0:1"), Some(("pwmchip0".to_owned(), 1)));
        for other in ["gpiochip0:1", "pwmchip:1", "pwmchip0", "pwmchip0:x", "pwmchip0/..:1", "pwmchipx:1"] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn unavailable_outputs_are_refused_with_the_reason() {
        let root = tempfile::tempdir().unwrap();
        let files = KernelFiles::under(root.path());
        assert!(find(&files, "pwmchip0", 0).unwrap_err().contains("no PWM controller in"));
        let chip = root.path().join("sys/class/pwm/pwmchip3");
        fs::create_dir_all(chip.join("pwm1")).unwrap();
        fs::write(chip.join("npwm"), "2\n").unwrap();
        assert!(find(&files, "pwmchip0", 0).unwrap_err().contains("this machine has pwmchip3"));
        assert!(find(&files, "pwmchip3", 2).unwrap_err().contains("has channels 0 to 1, not 2"));
        assert!(find(&files, "pwmchip3", 1).unwrap_err().contains("is in use"));
        assert_eq!(find(&files, "pwmchip3", 0), Ok(()));
    }

    #[test]
    fn a_wave_is_started_and_stopped() {
        let root = tempfile::tempdir().unwrap();
        let files = KernelFiles::under(root.path());
        let chip = root.path().join("sys/class/pwm/pwmchip0");
        fs::create_dir_all(&chip).unwrap();
        for (file, text) in [("npwm", "1\n"), ("export", ""), ("unexport", "")] {
            fs::write(chip.join(file), text).unwrap();
        }
        let incomplete = start(&files, "pwmchip0", 0, 1_000_000).unwrap_err();
        assert!(incomplete.contains("period"), "{incomplete}");
        let channel = chip.join("pwm0");
        fs::create_dir_all(&channel).unwrap();
        fs::write(channel.join("enable"), "1\n").unwrap();
        assert_eq!(stop(&files, "pwmchip0", 0), Ok(true));
        let text = |path: &std::path::Path| fs::read_to_string(path).unwrap().trim().to_owned();
        assert_eq!(
            (text(&channel.join("enable")), text(&chip.join("unexport"))),
            ("0".to_owned(), "0".to_owned())
        );
        fs::remove_dir_all(&channel).unwrap();
        assert_eq!(stop(&files, "pwmchip0", 0), Ok(false));
    }
}
