//! Parsing of a recipe's loads.

use serde::{Deserialize, Deserializer, de};
use tardy_record::load_spec::LoadSpec;

/// Reads a recipe's list of loads. Unlike in a run file, an unknown load is an error.
///
/// # Errors
/// If one of the texts is not a load.
pub fn deserialize_loads<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<LoadSpec>>, D::Error> {
    let Some(texts) = Option::<Vec<String>>::deserialize(deserializer)? else { return Ok(None) };
    texts.iter().map(|text| text.parse().map_err(de::Error::custom)).collect::<Result<_, _>>().map(Some)
}
