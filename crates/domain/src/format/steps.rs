//! Functions of time as they stand in the file: a number, or steps `[[tick, value], ...]`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error};
use serde::{Deserialize as DeserializeDerive, Serialize};
use serde_json::value::RawValue;

use super::words::plain;
use crate::decimal::{Decimal, excerpt};

/// One step: from this tick on, this value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, DeserializeDerive, JsonSchema)]
pub struct StepFile(pub i64, pub Decimal);

/// A number, or steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum StepsFile {
    /// The same at all times.
    Constant(Decimal),
    /// Unset before the first step; the last holds for ever.
    Steps(Vec<StepFile>),
}

impl<'de> Deserialize<'de> for StepsFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <Box<RawValue>>::deserialize(deserializer)?;
        let text = raw.get();
        let wrong = |problem: &dyn std::fmt::Display| {
            D::Error::custom(format!(
                "expected a number or steps [[tick, value], ...], found {} ({problem})",
                excerpt(text)
            ))
        };
        if text.starts_with('[') {
            return serde_json::from_str(text).map(Self::Steps).map_err(|problem| wrong(&plain(&problem)));
        }
        Decimal::parse(text).map(Self::Constant).map_err(|problem| wrong(&problem))
    }
}

impl JsonSchema for StepsFile {
    fn schema_name() -> Cow<'static, str> {
        "Steps".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let number = generator.subschema_for::<Decimal>();
        let steps = generator.subschema_for::<Vec<StepFile>>();
        json_schema!({ "anyOf": [number, steps] })
    }
}
