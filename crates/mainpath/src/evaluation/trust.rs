//! Trust in suites: one that starts programs, or gives runs to addresses and models, does so only as a person has seen it.

use super::criteria::suite_hash;
use super::suite::Suite;
use crate::Remedy;
use crate::presets::Trusted;
use crate::{Error, ErrorKind, Host};
use std::path::Path;

/// The file of the data folder that has the hashes.
const FILE: &str = "trusted-evals.json";

impl Host {
    /// Trusts a suite as it is now, with the files that its commands name. `folder`: where its commands run. Errors: nothing can be
    /// written.
    pub fn trust_suite(&self, suite: &Suite, folder: &Path) -> Result<(), Error> {
        let Some(file) = &suite.file else { return Ok(()) };
        Trusted::read(self.home(), FILE)?.add(file, &suite_hash(suite, folder))
    }

    /// Errors: it reaches out, and nobody has trusted it as it is.
    pub(super) fn check_trust(&self, suite: &Suite, folder: &Path) -> Result<(), Error> {
        let Some(file) = suite.file.as_ref().filter(|_| suite.reaches_out()) else { return Ok(()) };
        let distrust = Trusted::read(self.home(), FILE)?.distrust(file, &suite_hash(suite, folder));
        distrust.map_or(Ok(()), |distrust| {
            let problem = format!(
                "the suite {} starts programs, or gives runs to addresses or models, and {}",
                file.display(),
                distrust.words()
            );
            Err(Error::new(ErrorKind::Refused, problem).with_remedy(Remedy::TrustSuite))
        })
    }
}
