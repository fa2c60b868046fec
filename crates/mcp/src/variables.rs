//! `${NAME}` and `${NAME:-DEFAULT}` in what a configuration says, as others write it in `.mcp.json`.

use crate::error::VariableError;

/// The text with its variables replaced by what `look_up` knows. Errors: a variable that is not set, or no name.
pub(crate) fn expand(text: &str, look_up: &dyn Fn(&str) -> Option<String>) -> Result<String, VariableError> {
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        done.push_str(before);
        let (inside, left) = after.split_once('}').ok_or(VariableError::Unclosed)?;
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(VariableError::NotAVariable(inside.into()));
        }
        let value = look_up(name).filter(|value| default.is_none() || !value.is_empty());
        let value = value.or_else(|| default.map(String::from));
        done.push_str(&value.ok_or_else(|| VariableError::Unset(name.into()))?);
        rest = left;
    }
    done.push_str(rest);
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<String, VariableError> {
        let known = |name: &str| match name {
            "A" => Some("1".to_string()),
            "EMPTY" => Some(String::new()),
            "NEST" => Some("${A}".into()),
            _ => None,
        };
        expand(text, &known)
    }

    #[test]
    fn variables_are_replaced_once() {
        for (text, wanted) in [
            ("", ""),
            ("no", "no"),
            ("$A {A}", "$A {A}"),
            ("x${A}y${A}", "x1y1"),
            ("${B:-d}", "d"),
            ("${A:-d}", "1"),
            ("${EMPTY:-d}${EMPTY}", "d"),
            ("${NEST}", "${A}"),
        ] {
            assert_eq!(expanded(text).as_deref(), Ok(wanted));
        }
    }

    #[test]
    fn what_is_no_variable_or_not_set_is_an_error() {
        let problem = |text: &str| expanded(text).unwrap_err().to_string();
        assert_eq!(problem("${B}"), "the environment variable B is not set");
        assert_eq!(problem("${A"), "a ${ without its }");
        assert_eq!(problem("${}"), "${} is not a variable; write ${NAME} or ${NAME:-DEFAULT}");
        assert_eq!(problem("${a b}"), "${a b} is not a variable; write ${NAME} or ${NAME:-DEFAULT}");
    }
}
