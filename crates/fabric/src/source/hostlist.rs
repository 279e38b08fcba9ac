//! Slurm's hostlist expressions: `tux[0-3,07],login1`.

/// Why an expression is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostlistError {
    /// A bracket is not closed, not opened or inside another.
    #[error("brackets do not match in `{0}`")]
    Brackets(String),
    /// What stands in brackets is no number or range.
    #[error("`{0}` is no number or range")]
    Range(String),
    /// A range runs backwards.
    #[error("the range `{0}` runs backwards")]
    Backwards(String),
    /// Nothing between two commas.
    #[error("a name is empty")]
    Empty,
    /// More names than any cluster has hosts.
    #[error("more than {MOST} names")]
    TooMany,
}

/// The most names of one expression.
pub const MOST: usize = 65_536;

/// The names that an expression stands for, in order.
///
/// # Errors
/// The expression is malformed or stands for more than [`MOST`] names.
pub fn expand(expression: &str) -> Result<Vec<String>, HostlistError> {
    let mut names = Vec::new();
    for item in split(expression)? {
        if item.is_empty() {
            return Err(HostlistError::Empty);
        }
        names.extend(expand_item(item)?);
        if names.len() > MOST {
            return Err(HostlistError::TooMany);
        }
    }
    Ok(names)
}

/// Splits at the commas outside brackets.
fn split(expression: &str) -> Result<Vec<&str>, HostlistError> {
    let mismatch = || HostlistError::Brackets(expression.chars().take(60).collect());
    let (mut items, mut start, mut open) = (Vec::new(), 0, false);
    for (position, character) in expression.char_indices() {
        match character {
            '[' if open => return Err(mismatch()),
            '[' => open = true,
            ']' if !open => return Err(mismatch()),
            ']' => open = false,
            ',' if !open => {
                items.push(&expression[start..position]);
                start = position + 1;
            }
            _ => {}
        }
    }
    if open {
        return Err(mismatch());
    }
    items.push(&expression[start..]);
    Ok(items)
}

/// Expands an item with any number of brackets, the last varying fastest.
fn expand_item(item: &str) -> Result<Vec<String>, HostlistError> {
    let mut names = vec![String::new()];
    let mut rest = item;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((ranges, tail)) = after.split_once(']') else { break };
        let numbers = numbers(ranges)?;
        if names.len().saturating_mul(numbers.len()) > MOST {
            return Err(HostlistError::TooMany);
        }
        let longer = |name: &String| numbers.iter().map(|number| format!("{name}{before}{number}")).collect::<Vec<_>>();
        names = names.iter().flat_map(longer).collect();
        rest = tail;
    }
    Ok(names.into_iter().map(|name| name + rest).collect())
}

/// The numbers of `0-3,07`, with the zeros that they are written with.
fn numbers(ranges: &str) -> Result<Vec<String>, HostlistError> {
    let wrong = || HostlistError::Range(ranges.chars().take(60).collect());
    let read = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u64>().ok().filter(|_| digits && text.len() <= 18).ok_or_else(wrong)
    };
    let mut numbers = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (from, to) = (read(first)?, read(last)?);
        if from > to {
            return Err(HostlistError::Backwards(range.to_owned()));
        }
        if to - from >= MOST as u64 || numbers.len() > MOST {
            return Err(HostlistError::TooMany);
        }
        let width = first.len();
        numbers.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_keep_leading_zeros_and_several_brackets_multiply() {
        assert_eq!(expand("tux[0-2,7]").unwrap(), ["tux0", "tux1", "tux2", "tux7"]);
        assert_eq!(expand("n[08-11]").unwrap(), ["n08", "n09", "n10", "n11"]);
        assert_eq!(expand("r[0-1]n[1-2]-ib,login").unwrap(), ["r0n1-ib", "r0n2-ib", "r1n1-ib", "r1n2-ib", "login"]);
    }

    #[test]
    fn malformed_expressions_say_what_is_wrong() {
        use HostlistError::{Backwards, Brackets, Empty, Range, TooMany};
        assert_eq!(expand("tux[0-3"), Err(Brackets("tux[0-3".to_owned())));
        assert_eq!(expand("tux0-3]"), Err(Brackets("tux0-3]".to_owned())));
        assert_eq!(expand("tux[[1]]"), Err(Brackets("tux[[1]]".to_owned())));
        assert_eq!(expand("tux[]"), Err(Range(String::new())));
        assert_eq!(expand("tux[a-b]"), Err(Range("a-b".to_owned())));
        assert_eq!(expand("tux[3-1]"), Err(Backwards("3-1".to_owned())));
        assert_eq!(expand("a,,b"), Err(Empty));
        assert_eq!(expand("a[0-99999999]"), Err(TooMany));
        assert_eq!(expand("a[0-999]b[0-999]c[0-999]"), Err(TooMany));
    }
}
