//! What was read before is not read again, unless it has changed.

use crate::support::{Disk, names};
use mainpath_skills::{Known, Skills};

/// As it comes back from a file.
fn kept(known: &Known) -> Known {
    serde_json::from_slice(&serde_json::to_vec(known).unwrap()).unwrap()
}

#[test]
fn a_warm_reading_is_the_cold_one() {
    let mut disk = Disk::new();
    for number in 0..50 {
        disk.skill(&format!("home/skills/skill-{number}"), "One of many.");
    }
    disk.write("home/skills/broken/SKILL.md", "");
    disk.skill("project/skills/trusted", "Trusted.");
    disk.trust("project/skills/trusted");
    let mut known = Known::default();
    let cold = Skills::read_known(&disk.places, &mut known);
    let mut again = kept(&known);
    assert_eq!(Skills::read_known(&disk.places, &mut again), cold);
    assert_eq!(again, known);
    assert_eq!((cold.skills.len(), cold.skipped.len()), (51, 1));
}

#[test]
fn what_is_known_is_not_opened_again() {
    let disk = Disk::new();
    let folder = disk.skill("home/skills/one", "One.");
    let mut known = Known::default();
    let cold = Skills::read_known(&disk.places, &mut known);
    // Its content is another, and everything that tells of a change is as it was: only a file that is not opened looks the same.
    let told = serde_json::to_string(&known).unwrap().replace("One.", "Kept.");
    let mut told: Known = serde_json::from_str(&told).unwrap();
    assert_eq!(cold.skills[0].card.description, "One.");
    assert_eq!(Skills::read_known(&disk.places, &mut told).skills[0].card.description, "Kept.");
    // A new file is read, also one of the same size.
    std::fs::write(folder.join("SKILL.md"), "---\nname: one\ndescription: Two.\n---\n# one\n\nThe body.\n").unwrap();
    assert_eq!(Skills::read_known(&disk.places, &mut told).skills[0].card.description, "Two.");
}

#[test]
fn what_is_gone_is_forgotten() {
    let disk = Disk::new();
    let folder = disk.skill("home/skills/one", "One.");
    disk.skill("home/skills/two", "Two.");
    let mut known = Known::default();
    Skills::read_known(&disk.places, &mut known);
    std::fs::remove_dir_all(folder).unwrap();
    assert_eq!(names(&Skills::read_known(&disk.places, &mut known).skills), ["two"]);
    assert!(!serde_json::to_string(&known).unwrap().contains("skills/one"));
}

#[test]
fn a_trusted_skill_that_has_changed_is_noticed_with_everything_else_known() {
    let mut disk = Disk::new();
    let folder = disk.skill("project/skills/one", "One.");
    let script = disk.write("project/skills/one/scripts/run.sh", "echo 1\n");
    disk.trust("project/skills/one");
    let mut known = Known::default();
    assert_eq!(names(&Skills::read_known(&disk.places, &mut known).skills), ["one"]);
    std::fs::write(&script, "echo 2\n").unwrap();
    let found = Skills::read_known(&disk.places, &mut known);
    assert_eq!((names(&found.skills), names(&found.untrusted)), (vec![], vec!["one"]));
    std::fs::write(script, "echo 1\n").unwrap();
    assert_eq!(names(&Skills::read_known(&disk.places, &mut known).skills), ["one"]);
    std::fs::write(folder.join("new.txt"), "").unwrap();
    assert_eq!(names(&Skills::read_known(&disk.places, &mut known).untrusted), ["one"]);
}
