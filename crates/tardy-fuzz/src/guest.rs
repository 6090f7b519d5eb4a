//! What a hostile guest of the lab, or a hostile kernel, gives to its host.

use tardy_init::messages::Decoder;
use tardy_lab::kernel::image;

/// Decodes a guest's output at once, and in two pieces, with the same result.
pub fn decode(output: &[u8]) {
    let whole = Decoder::default().decode(output);
    let (first, second) = output.split_at(output.len() / 2);
    let mut decoder = Decoder::default();
    let pieces = decoder.decode(first).and_then(|mut received| {
        received.extend(decoder.decode(second)?);
        Ok(received)
    });
    assert_eq!(whole, pieces);
}

/// Looks for a kernel's processor and release, and unpacks it.
pub fn inspect(file: &[u8]) {
    let _ = image::inspect(file);
    let _ = tardy_lab::kernel::vmlinux::unpack(file);
}
