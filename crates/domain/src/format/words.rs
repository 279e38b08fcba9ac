//! Serde's error messages in words that fit a person who wrote a JSON file.

/// The message of an error without its line and column.
pub(super) fn bare(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    message.strip_suffix(&place).unwrap_or(&message).to_owned()
}

/// What is wrong with a value, given that the text is JSON.
pub(super) fn plain(error: &serde_json::Error) -> String {
    let message = bare(error);
    if message == "trailing characters" {
        return "the list has too many entries".to_owned();
    }
    let mismatch = message.strip_prefix("invalid type: ").or(message.strip_prefix("invalid value: "));
    let mismatch = mismatch.or(message.strip_prefix("invalid length "));
    match mismatch.and_then(|mismatch| mismatch.rsplit_once(", expected ")) {
        Some((found, wanted)) => format!("expected {}, found {}", expected(wanted), kind(found)),
        None => message,
    }
}

fn expected(wanted: &str) -> &str {
    match wanted {
        "i64" => "an integer",
        "u64" => "an integer of at least 0",
        "f64" => "a number",
        "a string" => "a text",
        "a sequence" => "a list",
        "a tuple of size 2" | "tuple struct StepFile with 2 elements" => "a list of 2 entries",
        "a map" => "an object",
        wanted if wanted.starts_with("struct ") => "an object",
        wanted => wanted,
    }
}

fn kind(found: &str) -> String {
    match found.split_once(' ') {
        Some(("string", text)) => format!("the text {text}"),
        Some(("floating", number)) => number.replacen("point ", "", 1),
        Some(("integer", number)) => number.to_owned(),
        _ if found == "sequence" => "a list".to_owned(),
        _ if found == "map" => "an object".to_owned(),
        _ if found.bytes().all(|byte| byte.is_ascii_digit()) => format!("{found} entries"),
        _ => found.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::plain;
    use crate::format::StepFile;

    fn message<'t, T: Deserialize<'t>>(text: &'t str) -> String {
        serde_json::from_str::<T>(text).err().map_or_else(String::new, |error| plain(&error))
    }

    #[test]
    fn messages_name_json_not_rust() {
        assert_eq!(message::<i64>("\"5, expected i64\""), "expected an integer, found the text \"5, expected i64\"");
        assert_eq!(message::<i64>("1.5"), "expected an integer, found `1.5`");
        assert_eq!(message::<u64>("-1"), "expected an integer of at least 0, found `-1`");
        assert_eq!(message::<Vec<i64>>("{}"), "expected a list, found an object");
        assert_eq!(message::<String>("[]"), "expected a text, found a list");
        assert_eq!(message::<(i64, i64)>("[1]"), "expected a list of 2 entries, found 1 entries");
        assert_eq!(message::<(i64, i64)>("[1, 2, 3]"), "the list has too many entries");
        assert_eq!(message::<StepFile>("[1]"), "expected a list of 2 entries, found 1 entries");
        assert_eq!(message::<Vec<i64>>("null"), "expected a list, found null");
    }
}
