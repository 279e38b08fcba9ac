//! Commands with placeholders.

use std::collections::BTreeMap;

/// Replaces `{name}` by the value of that name, quoted for a POSIX shell where it needs to be; `{{` and `}}` are braces.
///
/// # Errors
/// The placeholder that has no value, or that is not closed.
pub fn expand(template: &str, values: &BTreeMap<&str, String>) -> Result<String, String> {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        let after = &rest[at + 1..];
        if let Some(tail) = after.strip_prefix(brace) {
            text.push_str(brace);
            rest = tail;
        } else if brace == "}" {
            text.push('}');
            rest = after;
        } else {
            let (name, tail) = after.split_once('}').ok_or_else(|| excerpt(after))?;
            // A shell's own `${NAME}` is not for us.
            if text.ends_with('$') {
                text.extend(["{", name, "}"]);
            } else {
                text.push_str(&quoted(values.get(name).ok_or_else(|| excerpt(name))?));
            }
            rest = tail;
        }
    }
    text.push_str(rest);
    Ok(text)
}

fn excerpt(text: &str) -> String {
    text.chars().take(40).collect()
}

/// A word that a POSIX shell reads as this text.
fn quoted(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+=:,./@%".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_replaced_and_quoted() {
        let values = BTreeMap::from([("steps", "100".to_owned()), ("job", "it's; rm -rf".to_owned())]);
        let expand = |template| expand(template, &values);
        assert_eq!(expand("train -n {steps} {job}"), Ok(r"train -n 100 'it'\''s; rm -rf'".to_owned()));
        assert_eq!(expand("echo {{x}} ${HOME} {steps}"), Ok("echo {x} ${HOME} 100".to_owned()));
        assert_eq!(expand("a {nothing}"), Err("nothing".to_owned()));
        assert_eq!(expand("a {steps"), Err("steps".to_owned()));
    }
}
