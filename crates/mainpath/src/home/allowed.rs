//! Rules that people make by an approval, for good.

use super::Home;
use super::edit::{below, rewrite};
use crate::Error;
use mainpath_policy::{Folders, Layer, Policy};
use mainpath_types::{CallId, TraceId};
use std::path::PathBuf;

impl Home {
    /// Writes a rule that allows calls like an approved one, a pattern in each line, into the rules of this home. One that is there already is
    /// not written twice. Gives the file. Errors: the file's rules are wrong, or it cannot be written.
    pub fn allow_always(&self, rule: &str, trace: &TraceId, call: CallId) -> Result<PathBuf, Error> {
        let file = self.config_dir().join("policy.toml");
        let bad = |why: String| Error::failed(format!("the rule cannot be kept in {}: {why}", file.display()));
        let patterns = rule.lines().map(|line| toml::Value::String(line.into())).collect();
        let quoted = toml::Value::Array(patterns).to_string();
        let entry = format!(
            "[[rule]]\ndecision = \"allow\"\nmatch = {quoted}\nreason = \"Approved at call {call} of {trace}.\"\n"
        );
        rewrite(&file, |old| {
            if old.contains(&entry) {
                return Ok(old);
            }
            let new = below(&old, &entry);
            // What would not be read again is not written.
            let mut policy = Policy::builtin(Folders::default()).map_err(|error| bad(error.to_string()))?;
            policy.add_file(Layer::User, &file.display().to_string(), &new).map_err(|error| bad(error.to_string()))?;
            Ok(new)
        })?;
        Ok(file)
    }
}
