//! The checksum of IPv4's header and of ICMP, for packets that a program writes itself.

/// The Internet checksum (RFC 1071) of bytes whose checksum field is 0. Of bytes with their checksum it is 0.
pub fn of(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_follows_rfc_1071() {
        // The example of RFC 1071, section 3: its sum is ddf2.
        assert_eq!(of(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }
}
