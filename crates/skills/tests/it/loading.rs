//! What can be read of a skill, and what cannot.

use crate::support::Disk;
use mainpath_skills::{
    Excerpt, Files, LARGEST_FILE, LoadError, MOST_LISTED, Problem, list_files, load_body, load_resource,
};

fn failed(path: &str, problem: Problem) -> LoadError {
    LoadError::File { path: path.into(), problem }
}

#[test]
fn a_body_is_what_follows_the_front_matter_with_line_feeds() {
    let disk = Disk::new();
    disk.write("home/skills/one/SKILL.md", "---\r\nname: one\r\ndescription: d\r\n---\r\n\r\n# One\r\n\r\nText.\r\n");
    let found = disk.read();
    let body = load_body(&found.skills[0], 1_000).unwrap();
    assert_eq!(body, Excerpt { text: "# One\n\nText.".into(), section: None, is_partial: false });
}

#[test]
fn a_body_that_is_too_long_is_cut_at_a_line_and_says_so() {
    let disk = Disk::new();
    let lines: String = (1..=10).map(|line| format!("line {line}\n")).collect();
    disk.write("home/skills/one/SKILL.md", &format!("---\nname: one\ndescription: d\n---\n{lines}"));
    let body = load_body(&disk.read().skills[0], 19).unwrap();
    assert_eq!(body.text, "line 1\nline 2\n[lines 3–10 of 10 left out]");
    assert!(body.is_partial);
    disk.write("home/skills/one/SKILL.md", &format!("---\nname: one\ndescription: d\n---\n{}", "é".repeat(50)));
    let body = load_body(&disk.read().skills[0], 20).unwrap();
    assert_eq!(body.text, format!("{}\n[30 characters of line 1 left out]", "é".repeat(20)));
}

#[test]
fn no_path_leads_out_of_a_skills_folder() {
    let disk = Disk::new();
    disk.skill("home/skills/one", "One.");
    disk.write("home/skills/secret.txt", "secret");
    disk.write("home/skills/one/docs/a.md", "inside");
    disk.link("home/skills/one/link.txt", "../secret.txt");
    disk.link("home/skills/one/inside.txt", "docs/a.md");
    disk.link("home/skills/one/folder", "..");
    disk.pipe("home/skills/one/pipe");
    let found = disk.read();
    let load = |path: &str| load_resource(&found.skills[0], path, None, 1_000).map(|found| found.text);
    assert_eq!(load("docs/a.md").unwrap(), "inside");
    assert_eq!(load("./docs/./a.md").unwrap(), "inside");
    let absolute = disk.path("home/skills/secret.txt").display().to_string();
    for path in ["../secret.txt", "docs/../../secret.txt", "docs/../docs/a.md", &absolute, "/", "a\0b"] {
        assert_eq!(load(path).unwrap_err(), failed(path, Problem::Outside), "{path:?}");
    }
    for path in ["", "."] {
        assert_eq!(load(path).unwrap_err(), failed(path, Problem::Empty), "{path:?}");
    }
    for path in ["link.txt", "inside.txt", "folder/secret.txt", "docs/a.md/x"] {
        assert_eq!(load(path).unwrap_err(), failed(path, Problem::Link), "{path:?}");
    }
    assert_eq!(load("pipe").unwrap_err(), failed("pipe", Problem::NotAFile));
    assert_eq!(load("docs").unwrap_err(), failed("docs", Problem::NotAFile));
    assert_eq!(load("docs/b.md").unwrap_err(), failed("docs/b.md", Problem::Missing));
    assert_eq!(load("docs/b.md").unwrap_err().to_string(), "docs/b.md: there is no such file");
}

#[test]
fn only_text_of_a_bounded_size_is_read() {
    let disk = Disk::new();
    let folder = disk.skill("home/skills/one", "One.");
    std::fs::write(folder.join("image.png"), b"\x89PNG\r\n\xff").unwrap();
    std::fs::write(folder.join("zeros"), b"a\0b").unwrap();
    std::fs::File::create(folder.join("large")).unwrap().set_len(LARGEST_FILE + 1).unwrap();
    let found = disk.read();
    let load = |path: &str| load_resource(&found.skills[0], path, None, 1_000).unwrap_err();
    assert_eq!(load("image.png"), failed("image.png", Problem::NotText));
    assert_eq!(load("zeros"), failed("zeros", Problem::NotText));
    assert_eq!(load("large"), failed("large", Problem::TooLarge(LARGEST_FILE)));
}

const GUIDE: &str = "# Guide\n\nIntro.\n\n## Filling in forms\n\nFill.\n\n### Check boxes\n\nTick.\n\n```\n# not a heading\n```\n\n## Merging\n\nMerge.\n";

#[test]
fn a_section_is_found_by_a_hint_with_everything_below_it() {
    let disk = Disk::new();
    disk.skill("home/skills/one", "One.");
    disk.write("home/skills/one/guide.md", GUIDE);
    let found = disk.read();
    let load = |hint: &str| load_resource(&found.skills[0], "guide.md", Some(hint), 1_000).unwrap();
    let forms = load("how do I fill a form");
    assert_eq!(forms.section.as_deref(), Some("Filling in forms"));
    assert_eq!(
        forms.text,
        "[lines 1–4 of 19 left out]\n## Filling in forms\n\nFill.\n\n### Check boxes\n\nTick.\n\n```\n# not a heading\n```\n\n[lines 17–19 of 19 left out]"
    );
    assert_eq!(load("## Merging").section.as_deref(), Some("Merging"));
    assert_eq!(load("not a heading").section, None);
    let none = load("printing");
    assert_eq!((none.section, none.is_partial), (None, false));
    assert!(
        none.text.starts_with("[no heading is like \"printing\"; this is the beginning]\n# Guide"),
        "{}",
        none.text
    );
}

#[test]
fn a_section_in_chinese_is_found_too() {
    let disk = Disk::new();
    disk.skill("home/skills/one", "One.");
    disk.write("home/skills/one/guide.md", "# 指南\n\n开头\n\n# 填写表单\n\n填写。\n\n# 合并文件\n\n合并。\n");
    let found = disk.read();
    let loaded = load_resource(&found.skills[0], "guide.md", Some("怎么填写表单"), 1_000).unwrap();
    assert_eq!(loaded.section.as_deref(), Some("填写表单"));
}

#[test]
fn the_files_of_a_skill_are_listed_without_links_and_hidden_ones() {
    let disk = Disk::new();
    disk.skill("home/skills/one", "One.");
    disk.write("home/skills/one/scripts/run.sh", "");
    disk.write("home/skills/one/references/a.md", "");
    disk.write("home/skills/one/.git/config", "");
    disk.link("home/skills/one/etc", "/etc");
    let listed = list_files(&disk.read().skills[0]).unwrap();
    let files = vec!["references/a.md".into(), "scripts/run.sh".into()];
    assert_eq!(listed, Files { files, scripts: vec!["scripts/run.sh".into()], has_more: false });
    for number in 0..MOST_LISTED + 50 {
        disk.write(&format!("home/skills/one/many/{number}"), "");
    }
    let listed = list_files(&disk.read().skills[0]).unwrap();
    assert!(listed.has_more && listed.files.len() <= MOST_LISTED + 1, "{}", listed.files.len());
}

#[test]
fn a_flat_skill_has_no_files() {
    let disk = Disk::new();
    disk.write("home/skills/flat.md", "---\ndescription: Flat.\n---\nBody.\n");
    let found = disk.read();
    assert_eq!(list_files(&found.skills[0]).unwrap(), Files::default());
    let refused = load_resource(&found.skills[0], "a.md", None, 100).unwrap_err();
    assert_eq!(refused.to_string(), "the skill flat is a single file and has no others");
}
