//! Signing the head of a trace, and checking what was signed.

use super::handle::Trace;
use crate::Error;
use crate::proof::{Proof, PublicKey, Signed, Signing, Witnessed, sign, verify_signed};
use mainpath_store::scheduler::system_clock;

impl Trace {
    /// Signs the head that the log has now: [`sign`].
    pub async fn sign(&self, signing: &Signing) -> Result<Signed, Error> {
        self.here()?;
        sign(self.host().at(self.id()), signing, system_clock()).await
    }

    /// Checks the log against the heads that owners of these keys signed, and against a witness: [`verify_signed`].
    pub async fn verify_signed(&self, trusted: &[PublicKey], witness: Option<&Witnessed>) -> Result<Proof, Error> {
        self.here()?;
        verify_signed(self.host().at(self.id()), trusted, witness).await
    }
}
