//! Agent Skills: folders with a `SKILL.md` that say how something is done, as agentskills.io specifies them.
//!
//! [`Skills::read`] lists what is in the [`Places`] where skills are looked for, reading only their metadata. [`Catalogue`] shows
//! that list to a model under a budget, and [`Search`] finds skills in it. Once a skill was chosen, [`load_body`] and
//! [`load_resource`] read it. [`validate`] says whether a skill is as the specification has it.
//!
//! The crate owns: where skills are, which of them count, what they say, and what of them can be read. Its caller owns: who
//! chooses a skill, where trust is kept, and running scripts. It knows no agent, no log and no runtime, and reads no environment.
//!
//! What others need that read Markdown files with front matter is open to them: [`yaml`], [`words`], and opening files without following
//! links ([`open_file_in`], [`read_whole`]).
//!
//! A project's skills are hostile until they were looked at. They count only when a person has trusted their content
//! ([`Trusted`]), every read has a limit, only regular files are opened, and no link leads out of a skill's folder.

mod body;
mod builtin;
mod catalogue;
mod excerpt;
mod finding;
mod front;
mod index;
mod markdown;
mod names;
mod open;
mod roots;
mod script;
mod search;
mod skill;
mod trust;
mod validate;
mod walk;
mod words;
pub mod yaml;

pub use body::{Files, LARGEST_FILE, LoadError, MOST_LISTED, list_files, load_body, load_resource};
pub use builtin::BUILTIN;
pub use catalogue::{Catalogue, Listed, Shown};
pub use excerpt::Excerpt;
pub use finding::{Finding, Severity, is_valid};
pub use front::{
    DISABLE_MODEL_INVOCATION, EFFECT, Front, FrontMatter, SkillText, front_matter, line_feeds, read_text, tool_list,
};
pub use index::{Known, METADATA_BYTES, MOST_SKILLS, NoSkill, Skills};
pub use open::{Problem, open_file_in, open_folder, read_whole};
pub use roots::{Layer, Places, Root, roots};
pub use script::{Script, copy_skill, script};
pub use search::{Hit, Search};
pub use skill::{Card, Location, Shadowed, Skill, Standing};
pub use trust::{MOST_BYTES, MOST_FILES, Trusted, Untrusted, content_hash};
pub use validate::{
    LONGEST_COMPATIBILITY, LONGEST_DESCRIPTION, LONGEST_NAME, Strictness, TEMPLATE_BODY, TEMPLATE_DESCRIPTION,
    validate, validate_text,
};
pub use walk::Skipped;
pub use words::words;
pub use yaml::{At, Document, Entry, Node, Value, parse};
