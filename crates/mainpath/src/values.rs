//! Values as people write them in flags and files: amounts, times, rates. Errors are a few words that follow the name of what was
//! given.

use crate::Error;
use crate::Remedy;
use mainpath_store::scheduler::system_clock;
use mainpath_types::{Micros, Millis, RateLimit};
use std::time::Duration;

/// The present time by the clock of this machine, in milliseconds since 1970.
pub fn now() -> Millis {
    system_clock()
}

/// What is said to an agent. Errors: there are no words in it.
pub(crate) fn not_empty(field: &'static str, text: impl Into<String>) -> Result<String, Error> {
    let text = text.into();
    match text.trim().is_empty() {
        true => Err(Error::of_field(field, " is empty")),
        false => Ok(text),
    }
}

/// Dollars with up to six digits after the point, as millionths.
pub fn dollars(text: &str) -> Result<Micros, Error> {
    let (whole, rest) =
        text.trim().trim_start_matches('$').split_once('.').unwrap_or((text.trim().trim_start_matches('$'), ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let wrong = || Error::invalid("expected an amount in dollars, such as 2 or 0.50");
    if (whole.is_empty() && rest.is_empty()) || !digits(whole) || !digits(rest) || rest.len() > 6 {
        return Err(wrong());
    }
    format!("{whole}{rest:0<6}").parse().map_err(|_| wrong())
}

/// A time such as `90s` or `10m`.
pub fn duration(text: &str) -> Result<Duration, Error> {
    let time = any_duration(text)?;
    if time.is_zero() { Err(Error::invalid("it must be longer than 0")) } else { Ok(time) }
}

/// The same, also of no length.
fn any_duration(text: &str) -> Result<Duration, Error> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        // Whoever means days must not get seconds.
        return match text.trim_start_matches('0') {
            "" => Ok(Duration::ZERO),
            n => Err(Error::invalid(format!("it has no unit; write {n}s, {n}m, {n}h or {n}d"))),
        };
    }
    humantime::parse_duration(text).map_err(|_| Error::invalid("write a time such as 90s, 10m, 24h or 7d"))
}

/// A time limit such as `90s` or `10m`; 0, or 0 of any unit, for none.
pub fn time_limit(text: &str) -> Result<Duration, Error> {
    let time = any_duration(text.trim())?;
    let is_too_short = time.as_millis() == 0 && !time.is_zero();
    if is_too_short { Err(Error::invalid("write at least 1ms, or 0 for no limit")) } else { Ok(time) }
}

/// What to do instead of a rate of none: a face says how.
pub(crate) const DENY_INSTEAD: &str = "deny the tool instead";

/// So many calls in a time: `10/1m`.
pub fn rate(text: &str) -> Result<RateLimit, Error> {
    let wrong = || Error::invalid(format!("{text:?} is not a rate; write calls/time, such as \"10/1m\""));
    let (calls, time) = text.split_once('/').ok_or_else(wrong)?;
    let calls: u32 = calls.trim().parse().map_err(|_| wrong())?;
    if calls == 0 {
        return Err(
            Error::invalid(format!("{text:?} would never let it run; {DENY_INSTEAD}")).with_remedy(Remedy::DenyTool)
        );
    }
    let time = duration(time.trim()).map_err(|_| wrong())?;
    Ok(RateLimit { calls, per_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX) })
}

/// A sampling temperature.
pub fn temperature(text: &str) -> Result<f64, Error> {
    let wrong = || Error::invalid("expected a number from 0 to 2");
    text.parse().ok().filter(|wanted| (0.0..=2.0).contains(wanted)).ok_or_else(wrong)
}
