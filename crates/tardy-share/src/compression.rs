//! Deflate with a dictionary: text that both sides have, and that the compressed text refers to as if it preceded it.

use miniz_oxide::deflate::core::{
    CompressorOxide, TDEFLFlush, TDEFLStatus, compress, create_comp_flags_from_zip_params,
};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// The text that version 1 of links refers to: the words of reduced runs. It must never change.
const DICTIONARY: &[u8] = include_bytes!("dictionary-1.txt");
/// The highest level of deflate, and its window of raw data.
const LEVEL: i32 = 9;
const RAW_WINDOW_BITS: i32 = -15;

/// Why compressed text cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// It is not compressed text.
    Damaged,
    /// It is longer than allowed.
    TooLong,
}

/// Compresses `text`.
pub(crate) fn squeezed(text: &[u8]) -> Vec<u8> {
    let flags = create_comp_flags_from_zip_params(LEVEL, RAW_WINDOW_BITS, 0);
    let mut compressor = CompressorOxide::new(flags);
    // After a flush the compressed dictionary ends with a whole byte, and what follows may refer to it.
    let of_dictionary = written(&mut compressor, DICTIONARY, TDEFLFlush::Sync);
    debug_assert!(!of_dictionary.is_empty());
    written(&mut compressor, text, TDEFLFlush::Finish)
}

/// What the compressor writes for all of `text`.
fn written(compressor: &mut CompressorOxide, text: &[u8], flush: TDEFLFlush) -> Vec<u8> {
    let (mut out, mut from) = (Vec::new(), 0);
    let mut room = vec![0; 64 * 1024];
    loop {
        let (status, read, wrote) = compress(compressor, &text[from..], &mut room, flush);
        from += read;
        out.extend_from_slice(&room[..wrote]);
        let is_all = from == text.len() && wrote < room.len();
        if status != TDEFLStatus::Okay || is_all {
            return out;
        }
    }
}

/// The text that was compressed to `data`, of at most `most` bytes.
pub(crate) fn expanded(data: &[u8], most: usize) -> Result<Vec<u8>, Wrong> {
    let mut out = DICTIONARY.to_vec();
    out.resize(DICTIONARY.len() + most, 0);
    let mut decompressor = DecompressorOxide::new();
    let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let (status, read, wrote) = decompress(&mut decompressor, data, &mut out, DICTIONARY.len(), flags);
    match status {
        TINFLStatus::Done if read == data.len() => {
            out.truncate(DICTIONARY.len() + wrote);
            Ok(out.split_off(DICTIONARY.len()))
        }
        TINFLStatus::HasMoreOutput => Err(Wrong::TooLong),
        _ => Err(Wrong::Damaged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_the_dictionary_takes_few_bytes() {
        let text = &DICTIONARY[..DICTIONARY.len().min(200)];
        let squeezed = squeezed(text);
        assert!(squeezed.len() < 20, "{}", squeezed.len());
        assert_eq!(expanded(&squeezed, 200).unwrap(), text);
    }

    #[test]
    fn an_expansion_without_end_is_refused() {
        let squeezed = squeezed(&vec![b'a'; 10_000_000]);
        assert!(squeezed.len() < 20_000, "{}", squeezed.len());
        assert_eq!(expanded(&squeezed, 1 << 20), Err(Wrong::TooLong));
        assert_eq!(expanded(&squeezed[..100], 1 << 24), Err(Wrong::Damaged));
    }
}
