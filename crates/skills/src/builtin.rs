//! The skills that come with the program.

/// Planning, research and browsing the web, as texts of `SKILL.md`.
pub const BUILTIN: [&str; 3] = [
    include_str!("../builtin/planning/SKILL.md"),
    include_str!("../builtin/research/SKILL.md"),
    include_str!("../builtin/browser/SKILL.md"),
];
