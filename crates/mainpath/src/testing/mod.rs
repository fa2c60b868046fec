//! Tests that are made of runs: a folder in `.mainpath/tests` with what was recorded and what is expected, played offline.
//!
//! A test is under the rules of its project as they are now, and its agent is told what the project tells agents now. Nothing of it runs:
//! answers and results are those of the recording, as long as everything before them is what it was.

mod add;
mod baseline;
mod check;
mod file;
mod folder;
mod live;
mod live_outcome;
mod names;
mod outcome;
mod placing;
mod propose;
mod run;
mod wildcard;

pub use add::{AddedCall, AddedTest, NewTest};
pub(crate) use check::{Happened, problems};
pub(crate) use file::one_or_many;
pub use file::{Expectations, ExpectedAnswer, ExpectedCall, ExpectedText, OtherCalls, TestFile};
pub use live::{AT_ONCE, LiveTests};
pub use live_outcome::{LiveOutcome, LiveReport, LiveTrial, LiveVerdict};
pub use names::{FoundTests, found_tests, remove_test, test_file, test_names, tests_folder, tests_made_of};
pub use outcome::{TestOutcome, TestProblem};
pub(crate) use propose::calls;
