//! Values of the configuration file that have a form of their own.

use crate::Error;
use crate::values;
use mainpath_policy::{ToolNameError, ToolNames};
use mainpath_types::{Millis, RateLimit};
use serde::Deserialize;

/// Names of tools.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String")]
pub struct ToolNamesText(#[schemars(with = "String")] pub ToolNames);

impl TryFrom<String> for ToolNamesText {
    type Error = Error;
    fn try_from(text: String) -> Result<ToolNamesText, Error> {
        text.parse().map(ToolNamesText).map_err(|error: ToolNameError| Error::invalid(error.to_string()))
    }
}

/// A sampling temperature.
#[derive(Clone, Copy, Debug, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "f64")]
pub struct Temperature(pub f64);

impl TryFrom<f64> for Temperature {
    type Error = Error;
    fn try_from(wanted: f64) -> Result<Temperature, Error> {
        values::temperature(&wanted.to_string()).map(Temperature)
    }
}

/// So many calls in a time: `10/1m`.
#[derive(Clone, Copy, Debug, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String")]
pub struct Rate(#[schemars(with = "String")] pub RateLimit);

impl TryFrom<String> for Rate {
    type Error = Error;
    fn try_from(text: String) -> Result<Rate, Error> {
        values::rate(&text).map(Rate)
    }
}

/// A time in milliseconds, written as `90s` or `10m`.
#[derive(Clone, Copy, Debug, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String")]
pub struct Time(#[schemars(with = "String")] pub Millis);

impl TryFrom<String> for Time {
    type Error = Error;
    fn try_from(text: String) -> Result<Time, Error> {
        let time = values::duration(&text).map_err(|why| Error::invalid(format!("{text:?} is not a time: {why}")))?;
        Ok(Time(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
    }
}
