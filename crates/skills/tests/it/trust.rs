//! A project's skill counts as it was when the person trusted it, and in no other form.

use crate::support::{Disk, names};
use mainpath_skills::{LoadError, MOST_BYTES, Standing, Trusted, Untrusted, content_hash, load_body, load_resource};
use std::os::unix::fs::PermissionsExt;

/// A trusted skill with a script.
fn trusted() -> Disk {
    let mut disk = Disk::new();
    disk.skill("project/skills/one", "One.");
    disk.write("project/skills/one/scripts/run.sh", "echo 1\n");
    disk.trust("project/skills/one");
    assert_eq!(names(&disk.read().skills), ["one"]);
    disk
}

#[test]
fn every_change_in_its_folder_ends_trust() {
    type Change = fn(&Disk);
    let changes: [(&str, Change); 6] = [
        ("the text", |disk| drop(disk.write("project/skills/one/SKILL.md", "---\nname: one\ndescription: x\n---\n"))),
        ("a script", |disk| drop(disk.write("project/skills/one/scripts/run.sh", "echo 2\n"))),
        ("a new file", |disk| drop(disk.write("project/skills/one/new", ""))),
        ("a hidden file", |disk| drop(disk.write("project/skills/one/.env", ""))),
        ("a file less", |disk| std::fs::remove_file(disk.path("project/skills/one/scripts/run.sh")).unwrap()),
        ("a file that can be run", |disk| {
            let script = disk.path("project/skills/one/scripts/run.sh");
            std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
        }),
    ];
    for (what, change) in changes {
        let disk = trusted();
        change(&disk);
        let found = disk.read();
        assert_eq!(names(&found.skills), Vec::<&str>::new(), "{what}");
        assert_eq!(found.untrusted[0].standing, Standing::Untrusted(Untrusted::Changed), "{what}");
    }
}

#[test]
fn a_renamed_file_or_folder_is_a_change_even_if_the_bytes_are_the_same() {
    let disk = Disk::new();
    let write = |at: &str| {
        for (file, text) in [("a/b", "x"), ("ab", "y")] {
            disk.write(&format!("{at}/{file}"), text);
        }
    };
    write("one");
    write("two");
    assert_eq!(content_hash(&disk.path("one")), content_hash(&disk.path("two")));
    std::fs::rename(disk.path("two/a"), disk.path("two/c")).unwrap();
    assert_ne!(content_hash(&disk.path("one")), content_hash(&disk.path("two")));
    // The same characters in other places.
    disk.write("three/a", "bc");
    disk.write("four/ab", "c");
    assert_ne!(content_hash(&disk.path("three")), content_hash(&disk.path("four")));
}

#[test]
fn a_skill_that_can_change_by_itself_cannot_be_trusted() {
    let mut disk = Disk::new();
    let linked = disk.skill("project/skills/linked", "x");
    disk.link("project/skills/linked/data", "/etc/hostname");
    let piped = disk.skill("project/skills/piped", "x");
    disk.pipe("project/skills/piped/data");
    for place in [linked, piped] {
        let refused = disk.places.trusted.trust(&place).unwrap_err();
        assert_eq!(refused, Untrusted::Special("data".into()));
        assert_eq!(
            refused.to_string(),
            "data is a link or a special file; a skill that can be trusted has only files and folders"
        );
    }
    assert_eq!(disk.read().skills, []);
}

#[test]
fn there_is_a_most_of_bytes_and_depth() {
    let mut disk = Disk::new();
    let large = disk.skill("project/skills/large", "x");
    std::fs::File::create(large.join("data")).unwrap().set_len(MOST_BYTES + 1).unwrap();
    assert_eq!(disk.places.trusted.trust(&large).unwrap_err(), Untrusted::TooLarge);
    let deep = disk.skill("project/skills/deep", "x");
    std::fs::create_dir_all(deep.join("d/".repeat(40))).unwrap();
    assert_eq!(disk.places.trusted.trust(&deep).unwrap_err(), Untrusted::TooDeep);
}

#[test]
fn a_skill_is_looked_at_again_when_it_is_read() {
    let disk = trusted();
    let found = disk.read();
    let skill = &found.skills[0];
    assert!(load_body(skill, 1_000).is_ok());
    disk.write("project/skills/one/scripts/run.sh", "echo 2\n");
    let changed = LoadError::Untrusted { name: "one".into(), why: Untrusted::Changed };
    assert_eq!(load_body(skill, 1_000).unwrap_err(), changed);
    assert_eq!(load_resource(skill, "scripts/run.sh", None, 1_000).unwrap_err(), changed);
    assert_eq!(
        changed.to_string(),
        "the skill one of this project cannot be used: it has changed since you trusted it"
    );
}

#[test]
fn an_untrusted_skill_cannot_be_read() {
    let disk = Disk::new();
    disk.skill("project/skills/one", "One.");
    let found = disk.read();
    let refused = load_body(&found.untrusted[0], 1_000).unwrap_err();
    assert_eq!(refused, LoadError::Untrusted { name: "one".into(), why: Untrusted::NotYet });
}

#[test]
fn trust_is_kept_as_json_and_can_be_taken_back() {
    let mut disk = trusted();
    let kept = serde_json::to_string(&disk.places.trusted).unwrap();
    assert_eq!(serde_json::from_str::<Trusted>(&kept).unwrap(), disk.places.trusted);
    let place = disk.path("project/skills/one");
    assert!(disk.places.trusted.distrust(&place));
    assert!(!disk.places.trusted.distrust(&place));
    assert_eq!(disk.read().skills, []);
}

#[test]
fn a_flat_skill_is_trusted_by_its_file() {
    let mut disk = Disk::new();
    let file = disk.write("project/skills/flat.md", "---\ndescription: Flat.\n---\nBody.\n");
    disk.trust("project/skills/flat.md");
    let found = disk.read();
    assert_eq!(load_body(&found.skills[0], 100).unwrap().text, "Body.");
    std::fs::write(file, "---\ndescription: Flat.\n---\nOther.\n").unwrap();
    assert_eq!(names(&disk.read().untrusted), ["flat"]);
    assert!(matches!(load_body(&found.skills[0], 100), Err(LoadError::Untrusted { .. })));
}
