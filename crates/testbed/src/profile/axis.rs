//! What the user wants of one axis: all values, some of them, or a list.

use std::str::FromStr;

/// Which values of an axis are measured first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Axis {
    /// All that the GPU has.
    All,
    /// So many, evenly spaced, both ends included.
    Count(usize),
    /// These, in thousandths of the unit.
    List(Vec<i64>),
}

impl FromStr for Axis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "all" {
            return Ok(Self::All);
        }
        if let Some(count) = text.strip_suffix("points").or_else(|| text.strip_suffix("point")) {
            let count = count.trim().parse().ok().filter(|count| (1..=1000).contains(count));
            return count.map(Self::Count).ok_or_else(|| "the number of points must be 1 to 1000".to_owned());
        }
        let mut values: Vec<i64> = text.split(',').map(|value| thousandths(value.trim())).collect::<Result<_, _>>()?;
        values.sort_unstable();
        values.dedup();
        Ok(Self::List(values))
    }
}

impl Axis {
    /// The values out of the ascending ones that the GPU has (thousandths of the unit); those of a list as they are.
    pub fn values(&self, supported: &[i64]) -> Vec<i64> {
        match self {
            Self::All => supported.to_vec(),
            Self::Count(count) => spread(supported, *count),
            Self::List(values) => values.clone(),
        }
    }
}

fn thousandths(text: &str) -> Result<i64, String> {
    let wrong = || format!("`{text}` is neither `all`, nor a count such as `8points`, nor a list of numbers above 0");
    let value = rats_domain::decimal::Decimal::parse(text).map_err(|_| wrong())?.scaled(3);
    value
        .and_then(|value| i64::try_from(value).ok())
        .filter(|value| (1..=1_000_000_000).contains(value))
        .ok_or_else(wrong)
}

/// So many of the values, those nearest to an even grid from the first to the last; the last alone if one is wanted.
fn spread(values: &[i64], count: usize) -> Vec<i64> {
    let (Some(&low), Some(&high)) = (values.first(), values.last()) else { return Vec::new() };
    if count >= values.len() {
        return values.to_vec();
    }
    if count == 1 {
        return vec![high];
    }
    let nearest = |step: usize| {
        let wanted = low as f64 + (high - low) as f64 * step as f64 / (count - 1) as f64;
        let distance = |value: &i64| (*value as f64 - wanted).abs();
        values.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b)))
    };
    let mut chosen: Vec<i64> = (0..count).filter_map(nearest).collect();
    chosen.dedup();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_is_all_a_count_or_a_list() {
        assert_eq!("all".parse(), Ok(Axis::All));
        assert_eq!("8points".parse(), Ok(Axis::Count(8)));
        assert_eq!("8 points".parse(), Ok(Axis::Count(8)));
        assert_eq!("1410, 210,1410".parse(), Ok(Axis::List(vec![210_000, 1_410_000])));
        assert_eq!("0.5".parse(), Ok(Axis::List(vec![500])));
        for wrong in ["", "8x", "0points", "-1", "0", "1e99"] {
            assert!(wrong.parse::<Axis>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_count_takes_both_ends_and_even_steps_between() {
        let clocks: Vec<i64> = (0..=12).map(|step| 300 + 100 * step).collect();
        assert_eq!(Axis::Count(4).values(&clocks), [300, 700, 1100, 1500]);
        assert_eq!(Axis::Count(1).values(&clocks), [1500]);
        assert_eq!(Axis::Count(99).values(&clocks), clocks);
        assert_eq!(Axis::Count(3).values(&[]), Vec::<i64>::new());
    }
}
