//! The presets that come with Mainpath. Tools, limits and skills of the first three are those of the trace platform whose agents
//! they were first; `evaluate` has those of `explore`, and judges.

use super::preset::{Preset, PresetLimits};

/// What `source` says of them.
pub(super) const SOURCE: &str = "builtin";

const LOOKING: [&str; 5] = ["read_text_file", "glob", "grep", "list_files", "goal"];
const CHANGING: [&str; 4] = ["write_text_file", "edit_text_file", "bash", "agent"];

/// They, in the order of their names.
pub fn builtin() -> Vec<Preset> {
    let texts = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let of = |name: &str, description: &str, turns: u32, skills: &[&str]| Preset {
        name: name.into(),
        description: description.into(),
        source: SOURCE.into(),
        limits: PresetLimits { turns: Some(turns), ..PresetLimits::default() },
        skills: Some(texts(skills)),
        ..Preset::default()
    };
    vec![
        Preset {
            tools: Some(texts(&["read_text_file", "glob", "grep", "web_search", "web_fetch", "goal"])),
            denied_tools: texts(&CHANGING),
            temperature: Some(0.3),
            instructions: "You research and analyse; you change nothing. Collect what bears on the question from the files and, where \
                           you have the tools, from the web. Name the source of every statement: a file with its line, or an \
                           address. Say what is established, what is likely, and what you could not find out."
                .into(),
            ..of("analyst", "Researches a question in files and on the web; changes nothing", 25, &["planning", "research"])
        },
        of("default", "Any task, with all tools", 30, &["planning", "research", "browser"]),
        Preset {
            tools: Some(texts(&LOOKING)),
            denied_tools: texts(&CHANGING),
            instructions: "You judge whether a result meets its goal; you change nothing. Check every requirement by what is there, \
                           not by what is said about it: read the files that the result speaks of. Answer with PASS or FAIL in \
                           the first line; then each requirement with what you found, its file and line; and what is missing for \
                           a PASS."
                .into(),
            ..of("evaluate", "Judges whether a result meets its goal; changes nothing", 15, &["planning"])
        },
        Preset {
            tools: Some(texts(&LOOKING)),
            denied_tools: texts(&CHANGING),
            instructions: "You explore the files of the folder to answer a question; you change nothing. Search first, then read what \
                           matters. Answer with what you found, each finding with its file and line, and say where you did not \
                           look."
                .into(),
            ..of("explore", "Finds out how things are in the files; changes nothing", 15, &["planning"])
        },
    ]
}
