//! Numbers of an input file, read exactly as they were written.
//!
//! A JSON number is kept as mantissa x 10^-scale, so that "at most three decimals" is a question with an exact answer
//! and no value passes through a float before it becomes an integer of the right unit.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

/// An exact decimal number: `mantissa` x 10^-`scale`, without trailing zeros in the mantissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    mantissa: i128,
    scale: u32,
}

/// Why a text is not a [`Decimal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    /// Not a number of the JSON grammar.
    #[error("expected a number")]
    NotANumber,
    /// More digits than 128 bits hold.
    #[error("number with too many digits or too large an exponent")]
    OutOfRange,
}

impl Decimal {
    /// Reads a number of the JSON grammar.
    ///
    /// # Errors
    /// [`DecimalError`] if the text is not a number or does not fit.
    pub fn parse(text: &str) -> Result<Self, DecimalError> {
        let (body, exponent) = match text.split_once(['e', 'E']) {
            Some((body, exponent)) => (body, parse_exponent(exponent)?),
            None => (text, 0),
        };
        let (negative, digits) = match body.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, body),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let leading_zero = whole.len() > 1 && whole.starts_with('0');
        if whole.is_empty() || leading_zero || (fraction.is_empty() && digits.contains('.')) {
            return Err(DecimalError::NotANumber);
        }
        // Zeros at the end change nothing and must not use up the digits there are.
        let fraction = match fraction.trim_end_matches('0') {
            "" => fraction.get(..1).unwrap_or(fraction),
            significant => significant,
        };
        let mut mantissa: i128 = 0;
        for byte in whole.bytes().chain(fraction.bytes()) {
            if !byte.is_ascii_digit() {
                return Err(DecimalError::NotANumber);
            }
            mantissa = mantissa
                .checked_mul(10)
                .and_then(|m| m.checked_add(i128::from(byte - b'0')))
                .ok_or(DecimalError::OutOfRange)?;
        }
        let scale = i64::try_from(fraction.len()).map_err(|_| DecimalError::OutOfRange)? - exponent;
        Self::normalized(if negative { -mantissa } else { mantissa }, scale)
    }

    /// The integer `self` x 10^`decimals`, or `None` if `self` has more decimals than that.
    pub fn scaled(self, decimals: u32) -> Option<i128> {
        if self.scale > decimals {
            return None;
        }
        self.mantissa.checked_mul(10_i128.checked_pow(decimals - self.scale)?)
    }

    /// The number of decimals it needs.
    pub fn decimals(self) -> u32 {
        self.scale
    }

    /// The nearest double, for weights.
    pub fn to_f64(self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// Whether the number is below zero.
    pub fn is_negative(self) -> bool {
        self.mantissa < 0
    }

    /// The decimal `value` x 10^-`decimals`.
    pub fn from_scaled(value: i128, decimals: u32) -> Self {
        Self::normalized(value, i64::from(decimals)).unwrap_or(Self { mantissa: value, scale: decimals })
    }

    fn normalized(mut mantissa: i128, mut scale: i64) -> Result<Self, DecimalError> {
        if mantissa == 0 {
            return Ok(Self { mantissa: 0, scale: 0 });
        }
        while scale > 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            scale -= 1;
        }
        while scale < 0 {
            mantissa = mantissa.checked_mul(10).ok_or(DecimalError::OutOfRange)?;
            scale += 1;
        }
        let scale = u32::try_from(scale).map_err(|_| DecimalError::OutOfRange)?;
        Ok(Self { mantissa, scale })
    }
}

fn parse_exponent(text: &str) -> Result<i64, DecimalError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(DecimalError::NotANumber);
    }
    let size: i64 = digits.parse::<i64>().ok().filter(|size| *size < 10_000).ok_or(DecimalError::OutOfRange)?;
    Ok(if text.starts_with('-') { -size } else { size })
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = self.scale as usize;
        let digits = format!("{:0>width$}", self.mantissa.unsigned_abs(), width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        let sign = if self.mantissa < 0 { "-" } else { "" };
        if fraction.is_empty() { write!(f, "{sign}{whole}") } else { write!(f, "{sign}{whole}.{fraction}") }
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        Self { mantissa: i128::from(value), scale: 0 }
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <Box<RawValue>>::deserialize(deserializer)?;
        Self::parse(raw.get()).map_err(|problem| D::Error::custom(format!("{problem}, found {}", excerpt(raw.get()))))
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match RawValue::from_string(self.to_string()) {
            Ok(raw) => raw.serialize(serializer),
            Err(problem) => Err(serde::ser::Error::custom(problem)),
        }
    }
}

impl JsonSchema for Decimal {
    fn schema_name() -> Cow<'static, str> {
        "Decimal".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number" })
    }

    fn inline_schema() -> bool {
        true
    }
}

/// The first characters of a JSON text on one line, to quote in a message.
pub(crate) fn excerpt(text: &str) -> String {
    const LIMIT: usize = 40;
    let start: String = text.chars().take(10 * LIMIT).collect();
    let words: Vec<_> = start.split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() <= LIMIT && start.len() == text.len() {
        return line;
    }
    line.chars().take(LIMIT).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_counted_by_value_not_by_digits_written() {
        let read = |text| Decimal::parse(text).unwrap();
        assert_eq!(read("1.500").scaled(3), Some(1500));
        assert_eq!(read("1.0005").scaled(3), None);
        assert_eq!(read("12e-3").scaled(3), Some(12));
        assert_eq!(read("1.2e2").scaled(0), Some(120));
        assert_eq!(read("-0.25").scaled(6), Some(-250_000));
        // A double would round this to 0.1 and accept it.
        assert_eq!(read("0.1000000000000000000001").scaled(3), None);
        assert_eq!(read("2.5000000000000000000000000000000000000000").scaled(1), Some(25));
        assert_eq!(read("0.0000000000000000000000000000000000000000").scaled(0), Some(0));
        assert_eq!(read("9007199254740993").scaled(3), Some(9_007_199_254_740_993_000));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "-", "1.", ".5", "01", "-01", "+1", "1.x", "NaN", "\"1\"", "1e", "0x1", "[1]"] {
            assert_eq!(Decimal::parse(text), Err(DecimalError::NotANumber), "{text}");
        }
        assert_eq!(Decimal::parse("1e999"), Err(DecimalError::OutOfRange));
        assert_eq!(Decimal::parse("1e99999999999999999999"), Err(DecimalError::OutOfRange));
    }

    #[test]
    fn printing_and_reading_round_trip() {
        for text in ["0", "-1.5", "0.000001", "120", "83.64"] {
            assert_eq!(Decimal::parse(text).unwrap().to_string(), text);
        }
    }
}
