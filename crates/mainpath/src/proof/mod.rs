//! Proof that a log is the one that was: signed heads, witnesses of them, and the check of both.
//!
//! The chain of a log shows that it is one piece, not that it is the piece that was written: whoever can write the files can make another
//! one with a right chain. A **signed head** is a statement of the owner of a key that at a time the log had this many events and this
//! head. It lies beside the log. A **witness** is a copy of the statement where who writes the files cannot.

mod check;
mod keys;
mod sign;
mod statement;
mod witness;

pub use check::{HeadFault, Proof, SignedHead, verify_signed};
pub use keys::{OwnerKey, PublicKey};
pub use sign::{Signed, Signing, sign};
pub use statement::Statement;
pub use witness::{Witness, Witnessed};
