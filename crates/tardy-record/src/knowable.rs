//! A value that may be unknown, which differs from absent, zero and no.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value, or the statement that it is not known.
///
/// In the run file an unknown value is the string `"unknown"`, so that no reader takes it for zero or no.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Knowable<T> {
    /// The value is known.
    Known(T),
    /// The value is not known.
    #[default]
    Unknown,
}

impl<T> Knowable<T> {
    /// The value, if it is known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown => None,
        }
    }

    /// Whether the value is known.
    pub fn is_known(&self) -> bool {
        self.known().is_some()
    }
}

impl<T: Copy> Knowable<T> {
    /// A copy of the value, if it is known.
    pub fn get(&self) -> Option<T> {
        self.known().copied()
    }
}

impl<T> From<Option<T>> for Knowable<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Unknown, Self::Known)
    }
}

impl<T: Serialize> Serialize for Knowable<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Known(value) => value.serialize(serializer),
            Self::Unknown => serializer.serialize_str("unknown"),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Knowable<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // "unknown" is tried first: a `Knowable<String>` must not read it as a text.
        #[derive(Deserialize)]
        enum Word {
            #[serde(rename = "unknown")]
            Unknown,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either<T> {
            Unknown(Word),
            Known(T),
        }
        Ok(match Either::deserialize(deserializer)? {
            Either::Unknown(Word::Unknown) => Self::Unknown,
            Either::Known(value) => Self::Known(value),
        })
    }
}

impl<T: JsonSchema> JsonSchema for Knowable<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Knowable_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let known = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [known, { "const": "unknown" }] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_distinct_from_any_value() {
        assert_eq!(serde_json::to_string(&Knowable::<u64>::Unknown).unwrap(), "\"unknown\"");
        assert_eq!(serde_json::from_str::<Knowable<u64>>("7").unwrap(), Knowable::Known(7));
        assert_eq!(serde_json::from_str::<Knowable<String>>("\"unknown\"").unwrap(), Knowable::Unknown);
        assert_eq!(
            serde_json::from_str::<Knowable<String>>("\"acpi_pm\"").unwrap(),
            Knowable::Known("acpi_pm".to_owned())
        );
    }
}
