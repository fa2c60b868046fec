//! Skills are found by what people ask for.

use crate::support::Disk;
use mainpath_skills::{Places, Search, Skills};
use mainpath_testkit::skills::{SampleSkill, sample_skills};

fn collection() -> Skills {
    let (skills, _) = sample_skills();
    let builtin = skills.iter().map(SampleSkill::text).collect();
    Skills::read(&Places { builtin, ..Places::default() })
}

#[test]
fn of_two_hundred_questions_to_a_thousand_skills_nine_in_ten_are_answered_among_the_first_three() {
    let (found, (skills, questions)) = (collection(), sample_skills());
    assert_eq!((skills.len(), found.skills.len(), questions.len()), (1_000, 1_000, 200));
    let search = Search::new(&found.skills);
    let mut missed = Vec::new();
    for question in &questions {
        let hits = search.find(&question.asked, 3);
        if hits.iter().all(|hit| hit.name != question.skill) {
            let names: Vec<&str> = hits.iter().map(|hit| hit.name.as_str()).collect();
            missed.push(format!("{} ({}): {names:?}", question.asked, question.skill));
        }
    }
    assert!(missed.len() <= 20, "{} of 200:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn a_question_alone_decides() {
    // What any question finds by chance, and what one without a subject finds.
    let found = collection();
    let search = Search::new(&found.skills);
    assert_eq!(search.find("", 3), []);
    assert_eq!(search.find("xyzzy 嗄", 3), []);
    assert_eq!(search.find("how do I use the skill", 3), []);
    assert_eq!(search.find("Kubernetes", 1_000).len(), 20);
}

#[test]
fn names_weigh_more_than_descriptions_and_these_more_than_headings() {
    let disk = Disk::new();
    disk.skill("home/skills/invoices", "Writes bills.");
    disk.skill("home/skills/bills", "Writes invoices.");
    disk.write("home/skills/other/SKILL.md", "---\nname: other\ndescription: Other.\n---\n# Invoices\n");
    let found = disk.read();
    let hits = Search::new(&found.skills).find("an invoice", 5);
    let names: Vec<&str> = hits.iter().map(|hit| hit.name.as_str()).collect();
    assert_eq!(names, ["invoices", "bills", "other"]);
}
