//! Scripts: what one holds, what runs it, and the copy that it is run in.

use crate::support::Disk;
use mainpath_skills::{LoadError, Problem, Skill, Untrusted, content_hash, copy_skill, script};
use std::os::unix::fs::PermissionsExt;

fn one(disk: &Disk) -> Skill {
    disk.read().skills[0].clone()
}

fn executable(disk: &Disk, path: &str, text: &str) {
    let file = disk.write(path, text);
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_script_is_known_by_its_bytes_and_by_all_that_lies_beside_it() {
    let disk = Disk::new();
    let folder = disk.skill("home/skills/one", "One.");
    disk.write("home/skills/one/scripts/a.py", "print(1)\n");
    executable(&disk, "home/skills/one/scripts/b", "#!/bin/sh\n");
    let (a, b) = (script(&one(&disk), "scripts/a.py").unwrap(), script(&one(&disk), "./scripts/b").unwrap());
    assert_eq!((a.interpreter, a.path.as_str(), a.folder.clone()), (Some("python3"), "scripts/a.py", folder.clone()));
    assert_eq!((b.interpreter, b.path.as_str()), (None, "scripts/b"));
    assert_eq!((a.hash.len(), &a.folder_hash), (64, &b.folder_hash));
    assert_eq!(a.folder_hash, content_hash(&folder).unwrap());
    disk.write("home/skills/one/data.txt", "x");
    let later = script(&one(&disk), "scripts/a.py").unwrap();
    assert_eq!(later.hash, a.hash);
    assert_ne!(later.folder_hash, a.folder_hash);
}

#[test]
fn only_scripts_that_can_be_run_are_run() {
    let disk = Disk::new();
    disk.skill("home/skills/one", "One.");
    disk.write("home/skills/one/scripts/data.txt", "x");
    disk.write("home/skills/one/other.sh", "x");
    let said = |path: &str| script(&one(&disk), path).unwrap_err();
    assert_eq!(said("other.sh"), LoadError::NoScript("other.sh".into()));
    assert_eq!(said("scripts/data.txt"), LoadError::NoInterpreter("scripts/data.txt".into()));
    for path in ["scripts/../other.sh", "../one/scripts/x.sh", "/bin/sh"] {
        assert_eq!(said(path), LoadError::File { path: path.into(), problem: Problem::Outside });
    }
    assert_eq!(said(""), LoadError::File { path: "".into(), problem: Problem::Empty });
    let missing = LoadError::File { path: "scripts/none.sh".into(), problem: Problem::Missing };
    assert_eq!(said("scripts/none.sh"), missing);
    disk.link("home/skills/one/scripts/out.sh", "/bin/true");
    let link = LoadError::File { path: "scripts/out.sh".into(), problem: Problem::Link };
    assert_eq!(said("scripts/out.sh"), link);
}

#[test]
fn beside_a_link_nothing_can_be_run_as_it_could_mean_something_else() {
    let disk = Disk::new();
    disk.skill("home/skills/one", "One.");
    disk.write("home/skills/one/scripts/a.sh", "x");
    disk.link("home/skills/one/lib", "/usr/lib");
    let said = script(&one(&disk), "scripts/a.sh").unwrap_err();
    assert_eq!(said, LoadError::Unfit { name: "one".into(), why: Untrusted::Special("lib".into()) });
}

#[test]
fn a_copy_holds_what_was_judged_or_is_refused() {
    let disk = Disk::new();
    let folder = disk.skill("home/skills/one", "One.");
    executable(&disk, "home/skills/one/scripts/a", "#!/bin/sh\n");
    disk.write("home/skills/one/lib/deep/er/x.txt", "x");
    disk.write("home/skills/one/.hidden", "x");
    let found = script(&one(&disk), "scripts/a").unwrap();
    let copy = tempfile::tempdir().unwrap();
    copy_skill(&one(&disk), &found.folder_hash, copy.path()).unwrap();
    assert_eq!(content_hash(copy.path()), content_hash(&folder));
    assert_eq!(std::fs::read_to_string(copy.path().join("lib/deep/er/x.txt")).unwrap(), "x");
    disk.write("home/skills/one/lib/deep/er/x.txt", "y");
    let other = tempfile::tempdir().unwrap();
    let refused = copy_skill(&one(&disk), &found.folder_hash, other.path()).unwrap_err();
    assert_eq!(refused, LoadError::Changed("one".into()));
}
