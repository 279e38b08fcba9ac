//! A first pass over a JSON text: duplicate keys and the document's `format`.
//!
//! Serde sees a duplicate only where the key belongs to a field it knows; here every object is looked at.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// What the first pass found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The value of the top level key `format`, if there is one; empty if it is not a text.
    pub format: Option<String>,
    /// Whether the top level is an object.
    pub is_object: bool,
    /// Paths of keys that appear twice.
    pub duplicates: Vec<String>,
}

/// Scans a JSON text.
pub(super) fn scan(text: &str) -> Result<Scan, serde_json::Error> {
    let mut scan = Scan::default();
    let mut path = Vec::new();
    let mut reader = serde_json::Deserializer::from_str(text);
    Value { scan: &mut scan, path: &mut path }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(scan)
}

enum Step<'k> {
    Key(Cow<'k, str>),
    Index(usize),
}

struct Value<'s, 'k> {
    scan: &'s mut Scan,
    path: &'s mut Vec<Step<'k>>,
}

struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Cow<'de, str>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(key))
            }
            fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(key.to_owned()))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if let [Step::Key(key)] = self.path.as_slice()
            && key == "format"
        {
            self.scan.format = Some(text.to_owned());
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        for index in 0.. {
            self.path.push(Step::Index(index));
            let element = elements.next_element_seed(Value { scan: self.scan, path: self.path })?;
            self.path.pop();
            if element.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        if self.path.is_empty() {
            self.scan.is_object = true;
        }
        let mut seen = HashSet::new();
        while let Some(key) = entries.next_key_seed(Key)? {
            if self.path.is_empty() && key == "format" {
                self.scan.format = Some(String::new());
            }
            let twice = !seen.insert(key.clone());
            self.path.push(Step::Key(key));
            if twice {
                self.scan.duplicates.push(show(self.path));
            }
            entries.next_value_seed(Value { scan: self.scan, path: self.path })?;
            self.path.pop();
        }
        Ok(())
    }
}

fn show(path: &[Step<'_>]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => text.extend([".", key]),
            Step::Index(index) => text.extend(["[", &index.to_string(), "]"]),
        }
    }
    text
}
