//! What a schema says of any value, of a text and of a number.

use std::cmp::Ordering;

use serde_json::Value;

use super::walk::{At, Rule, TooMuch, Walk};
use crate::value::{TYPES, all_shown, compare, cost_of_text, is_multiple, is_of_type, short, shown};

impl<'a> Walk<'a> {
    pub(super) fn kind(&mut self, rule: Rule<'a>, at: &At<'a, '_>) -> Result<bool, TooMuch> {
        let value = at.value;
        match rule.keyword {
            "type" => {
                let one = std::slice::from_ref(rule.value);
                let types = rule.value.as_array().map_or(one, Vec::as_slice).iter().filter_map(Value::as_str);
                let fits = types.clone().any(|name| is_of_type(value, name));
                let names = || types.take(TYPES.len()).collect::<Vec<_>>().join(" or ");
                Ok(fits || self.broken(at, || format!("{} is not of type {}", shown(value), names())))
            }
            "enum" => {
                for allowed in rule.schemas() {
                    if self.same(allowed, value)? {
                        return Ok(true);
                    }
                }
                // All that it may be: whoever reads this writes it again.
                Ok(self.broken(at, || format!("{} is not one of {}", shown(value), all_shown(rule.schemas()))))
            }
            _ => {
                let fits = self.same(rule.value, value)?;
                Ok(fits || self.broken(at, || format!("{} is not {}", shown(value), shown(rule.value))))
            }
        }
    }

    pub(super) fn text(&mut self, rule: Rule<'a>, at: &At<'a, '_>, text: &str) -> Result<bool, TooMuch> {
        match rule.keyword {
            "minLength" | "maxLength" => {
                self.spend(cost_of_text(text))?;
                let characters = text.chars().count();
                Ok(match rule.keyword {
                    "minLength" => self.at_least(rule, at, characters, "characters"),
                    _ => self.at_most(rule, at, characters, "characters"),
                })
            }
            "pattern" => {
                let pattern = rule.value.as_str().unwrap_or_default();
                let what = || format!("{} does not match the pattern {}", shown(at.value), short(pattern));
                Ok(self.matches(pattern, text)? || self.broken(at, what))
            }
            _ => Ok(true),
        }
    }

    pub(super) fn number(&mut self, rule: Rule<'a>, at: &At<'a, '_>) -> bool {
        let (Value::Number(number), Value::Number(limit)) = (at.value, rule.value) else { return true };
        // Draft 4 says by a switch whether the limit itself is within.
        let without = |keyword: &str| rule.beside.get(keyword) == Some(&Value::Bool(true));
        let order = compare(number, limit);
        let (fits, what) = match rule.keyword {
            "minimum" if without("exclusiveMinimum") => (order == Ordering::Greater, "more than"),
            "maximum" if without("exclusiveMaximum") => (order == Ordering::Less, "less than"),
            "minimum" => (order != Ordering::Less, "at least"),
            "maximum" => (order != Ordering::Greater, "at most"),
            "exclusiveMinimum" => (order == Ordering::Greater, "more than"),
            "exclusiveMaximum" => (order == Ordering::Less, "less than"),
            "multipleOf" => (is_multiple(number, limit), "a multiple of"),
            _ => return true,
        };
        fits || self.broken(at, || format!("{number} is not {what} {limit}"))
    }
}
