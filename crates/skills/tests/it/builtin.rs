//! The skills that come with the program.

use crate::support::names;
use mainpath_skills::{BUILTIN, Layer, Places, Skills, Strictness, is_valid, load_body, validate_text};

#[test]
fn they_are_found_valid_by_the_specification_and_can_be_read() {
    let places = Places { builtin: BUILTIN.map(String::from).into(), ..Places::default() };
    let found = Skills::read(&places);
    assert_eq!(names(&found.skills), ["planning", "research", "browser"]);
    assert_eq!((found.shadowed, found.untrusted, found.skipped), Default::default());
    for (skill, text) in found.skills.iter().zip(BUILTIN) {
        assert_eq!(skill.layer, Layer::Builtin);
        assert_eq!(skill.card.findings, []);
        let findings = validate_text(text, Some(&skill.card.name), Strictness::Spec);
        assert!(is_valid(&findings), "{findings:?}");
        let body = load_body(skill, 100_000).unwrap();
        assert!(!body.is_partial && body.text.starts_with("# ") && body.text.len() > 500, "{}", body.text);
    }
}
