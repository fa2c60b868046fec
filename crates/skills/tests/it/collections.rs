//! Skills that people have published: all of them are loaded, and judged as the reference validator judges them.

use crate::oracle::disagreements;
use mainpath_skills::{Places, Skills, Strictness, is_valid, load_body, validate};
use std::path::{Path, PathBuf};

/// The folders below one that have a `SKILL.md`.
fn folders(below: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![below.to_path_buf()]);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else if entry.file_name() == "SKILL.md" {
                found.push(folder.clone());
            }
        }
    }
    found.sort();
    found
}

#[test]
#[ignore = "it needs the packages of make skill-collections"]
fn every_skill_of_the_collections_is_loaded_and_judged_as_the_reference_validator_does() {
    let below = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/skill-collections/unpacked");
    let folders = folders(&below);
    assert!(folders.len() > 200, "{} skills in {}", folders.len(), below.display());
    let (mut valid, mut off) = (0, 0);
    for folder in &folders {
        // Each in a home of its own, as several collections have skills of one name.
        let home = tempfile::tempdir().unwrap();
        let name = folder.file_name().unwrap();
        std::fs::create_dir(home.path().join("skills")).unwrap();
        std::os::unix::fs::symlink(folder, home.path().join("skills").join(name)).unwrap();
        let found = Skills::read(&Places { home: Some(home.path().into()), ..Places::default() });
        let [skill] = &found.skills[..] else { panic!("{}: {found:?}", folder.display()) };
        let body = load_body(skill, usize::MAX).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        assert!(!body.text.is_empty(), "{}", folder.display());
        off += usize::from(!skill.card.findings.is_empty());
        valid += usize::from(is_valid(&validate(folder, Strictness::Spec)));
    }
    let found = disagreements(&folders);
    println!("{} skills: {valid} valid by the specification, {off} loaded with a finding", folders.len());
    assert!(found.is_empty(), "{} of {}:\n{}", found.len(), folders.len(), found.join("\n"));
}
