//! Finds values in JSON text that is known to be valid, without building anything.
//!
//! Lines are validated once, by serde, when the input is indexed, and a checksum proves later that they are still the
//! same bytes. So this scanner checks nothing; on text that is not JSON it returns `None` or a wrong span, never panics
//! and always ends.

use std::ops::Range;

/// First byte at or after `at` that is not white space.
pub(crate) fn skip_space(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = text.get(at) {
        at += 1;
    }
    at
}

/// End of the string whose opening quote is at `at`: one past its closing quote, and whether it holds an escape.
pub(crate) fn string_end(text: &[u8], at: usize) -> Option<(usize, bool)> {
    let mut from = at + 1;
    let mut escaped = false;
    loop {
        let found = from + memchr::memchr2(b'"', b'\\', text.get(from..)?)?;
        if text.get(found) == Some(&b'"') {
            return Some((found + 1, escaped));
        }
        escaped = true;
        from = found + 2;
    }
}

/// End of the scalar that is not a string: a number or a literal.
pub(crate) fn scalar_end(text: &[u8], at: usize) -> usize {
    let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
    text.get(at..).map_or(at, |rest| at + rest.iter().position(is_end).unwrap_or(rest.len()))
}

/// End of the value that starts at `at`, which is not white space.
pub(crate) fn skip_value(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at)? {
        b'"' => string_end(text, at).map(|(end, _)| end),
        b'{' | b'[' => {
            let mut depth = 0_usize;
            let mut at = at;
            loop {
                match text.get(at)? {
                    b'"' => {
                        at = string_end(text, at)?.0;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => {
                        depth -= 1;
                        if depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ => {}
                }
                at += 1;
            }
        }
        _ => Some(scalar_end(text, at)),
    }
}

/// Span of the value of a member of the object that `text` is, by its unescaped name; the last one wins.
pub(crate) fn member(text: &[u8], name: &str) -> Option<Range<usize>> {
    let mut found = None;
    let mut at = skip_space(text, 0);
    if text.get(at) != Some(&b'{') {
        return None;
    }
    at = skip_space(text, at + 1);
    while text.get(at) == Some(&b'"') {
        let (key_end, escaped) = string_end(text, at)?;
        let key = text.get(at..key_end)?;
        let same = if escaped {
            serde_json::from_slice::<String>(key).is_ok_and(|key| key == name)
        } else {
            key.get(1..key.len() - 1) == Some(name.as_bytes())
        };
        let colon = skip_space(text, key_end);
        let from = skip_space(text, colon + 1);
        let until = skip_value(text, from)?;
        if same {
            found = Some(from..until);
        }
        at = skip_space(text, until);
        if text.get(at) != Some(&b',') {
            break;
        }
        at = skip_space(text, at + 1);
    }
    found
}

/// The members of the object that `text` is: names as they are written, without their quotes, and values.
pub(crate) fn members(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut at = skip_space(text, 0) + 1;
    std::iter::from_fn(move || {
        at = skip_space(text, at);
        if text.get(at) == Some(&b',') {
            at = skip_space(text, at + 1);
        }
        if text.get(at) != Some(&b'"') {
            return None;
        }
        let (key_end, _) = string_end(text, at)?;
        let key = text.get(at + 1..key_end - 1)?;
        let from = skip_space(text, skip_space(text, key_end) + 1);
        at = skip_value(text, from)?;
        Some((key, text.get(from..at)?))
    })
}

/// The items of the array that `text` is.
pub(crate) fn items(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let open = skip_space(text, 0);
    let mut at = if text.get(open) == Some(&b'[') { open + 1 } else { text.len() };
    std::iter::from_fn(move || {
        at = skip_space(text, at);
        if text.get(at) == Some(&b',') {
            at = skip_space(text, at + 1);
        }
        let from = at;
        at = match text.get(from)? {
            b']' | b'}' => return None,
            _ => skip_value(text, from)?,
        };
        // A scalar of nothing is no JSON, and would never be got past.
        text.get(from..at).filter(|item| !item.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get<'a>(text: &'a str, name: &str) -> Option<&'a str> {
        member(text.as_bytes(), name).map(|span| &text[span])
    }

    #[test]
    fn a_member_is_found_by_its_unescaped_name_whatever_stands_around_it() {
        let text = r#" { "x" : "}\"]{" , "par\u0061ms" : {"a":[1,{"b":"]"}]} ,"n":-1.5e3,"t":true, "s":"\\" } "#;
        assert_eq!(get(text, "params"), Some(r#"{"a":[1,{"b":"]"}]}"#));
        assert_eq!(get(text, "x"), Some(r#""}\"]{""#));
        assert_eq!(get(text, "n"), Some("-1.5e3"));
        assert_eq!(get(text, "t"), Some("true"));
        assert_eq!(get(text, "s"), Some(r#""\\""#));
        assert_eq!(get(text, "a"), None);
        assert_eq!(get("{}", "a"), None);
    }

    #[test]
    fn items_are_found_whatever_stands_in_them() {
        let list = |text: &'static str| items(text.as_bytes()).map(<[u8]>::to_vec).collect::<Vec<_>>();
        assert_eq!(list(r#" [ "a]" , {"b":[1,2]},3 ,[] ] "#), [&br#""a]""#[..], br#"{"b":[1,2]}"#, b"3", b"[]"]);
        for text in ["[]", "{}", "", "[", "7", "[,", "[}", "[1", "[,,,"] {
            assert!(list(text).len() <= 1, "{text}");
        }
    }

    #[test]
    fn text_that_is_not_json_ends_without_a_panic() {
        for text in
            ["", "{", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":[", "{\"a\":\"\\", "]", "{\"a\":}", "{\"a\"}}"]
        {
            let _ = member(text.as_bytes(), "a");
            let _ = skip_value(text.as_bytes(), 0);
        }
    }
}
