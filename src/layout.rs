//! JSON for people: everything that fits on one line stands on one line.

/// Longest line that is not broken up.
const WIDTH: usize = 260;

/// The same document with line breaks; `compact` must be JSON without spaces between tokens.
pub fn laid_out(compact: &str) -> String {
    let mut text = String::with_capacity(compact.len() + compact.len() / 8);
    lay_out(compact.as_bytes(), 0, &mut text);
    text.push('\n');
    text
}

fn lay_out(value: &[u8], indent: usize, text: &mut String) {
    let container = matches!(value.first(), Some(b'{' | b'['));
    if !container || value.len() <= 2 || (indent > 0 && indent + value.len() <= WIDTH) {
        spaced(value, text);
        return;
    }
    let inner = &value[1..value.len() - 1];
    text.push(char::from(value[0]));
    let mut rest = inner;
    while !rest.is_empty() {
        let (entry, after) = split(rest);
        text.push('\n');
        text.extend(std::iter::repeat_n(' ', indent + 2));
        let (key, entry) = entry.split_at(key_length(value[0], entry));
        spaced(key, text);
        lay_out(entry, indent + 2, text);
        if !after.is_empty() {
            text.push(',');
        }
        rest = after;
    }
    text.push('\n');
    text.extend(std::iter::repeat_n(' ', indent));
    text.push(char::from(value[value.len() - 1]));
}

/// The length of `"key":` in front of an entry of an object.
fn key_length(open: u8, entry: &[u8]) -> usize {
    if open == b'[' { 0 } else { string_end(entry) + 1 }
}

/// The first entry of a list and what follows its comma.
fn split(list: &[u8]) -> (&[u8], &[u8]) {
    let (mut depth, mut at) = (0_usize, 0);
    while at < list.len() {
        match list[at] {
            b'"' => {
                at += string_end(&list[at..]);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => return (&list[..at], &list[at + 1..]),
            _ => {}
        }
        at += 1;
    }
    (list, &[])
}

/// The length of the string that `text` begins with, quotes included.
fn string_end(text: &[u8]) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != b'"' {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

/// The value on one line, with a space after every comma and colon between tokens.
fn spaced(value: &[u8], text: &mut String) {
    let mut from = 0;
    while from < value.len() {
        let end = if value[from] == b'"' { from + string_end(&value[from..]) } else { from + 1 };
        text.push_str(&String::from_utf8_lossy(&value[from..end]));
        if matches!(value[from], b',' | b':') {
            text.push(' ');
        }
        from = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_values_stay_on_one_line() {
        let long = "x".repeat(WIDTH);
        let compact = format!(r#"{{"a":[1,{{"b":"c:,\"["}}],"d":[],"e":["{long}",2]}}"#);
        let expected = format!(
            "{{\n  \"a\": [1, {{\"b\": \"c:,\\\"[\"}}],\n  \"d\": [],\n  \"e\": [\n    \"{long}\",\n    2\n  ]\n}}\n"
        );
        assert_eq!(laid_out(&compact), expected);
    }

    #[test]
    fn letters_beyond_ascii_survive() {
        assert_eq!(laid_out(r#"["å","é→"]"#), "[\n  \"å\",\n  \"é→\"\n]\n");
    }
}
