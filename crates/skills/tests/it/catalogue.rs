//! The list of skills under a budget: what does not fit is shortened, and nothing goes silently.

use crate::support::Disk;
use mainpath_skills::{Catalogue, Listed, Shown, Skills};

/// Skills with descriptions of these lengths.
fn skills(lengths: &[usize]) -> Skills {
    let disk = Disk::new();
    for (number, length) in lengths.iter().enumerate() {
        let description: String = "word ".repeat(*length).chars().take(*length).collect();
        disk.skill(&format!("home/skills/s{number}"), &format!("\"{}.\"", description.trim_end()));
    }
    disk.read()
}

fn shown(catalogue: &Catalogue) -> Vec<Shown> {
    catalogue.skills.iter().map(|listed| listed.shown).collect()
}

#[test]
fn everything_that_fits_is_whole() {
    let disk = Disk::new();
    disk.skill("home/skills/b", "Second\n  thing.");
    disk.skill("home/skills/a", "First thing.");
    let found = disk.read();
    let catalogue = Catalogue::new(&found.skills, 1_000);
    assert_eq!(catalogue.text, "- a: First thing.\n- b: Second thing.\n");
    let listed = |name: &str| Listed { name: name.into(), shown: Shown::Whole };
    assert_eq!((catalogue.skills, catalogue.is_searched), (vec![listed("a"), listed("b")], false));
    assert_eq!(Catalogue::new([], 0).text, "");
}

#[test]
fn long_descriptions_are_shortened_before_short_ones() {
    let found = skills(&[20, 900, 20, 900]);
    let catalogue = Catalogue::new(&found.skills, 600);
    assert_eq!(shown(&catalogue), [Shown::Whole, Shown::Shortened, Shown::Whole, Shown::Shortened]);
    assert!(catalogue.is_searched);
    let lines: Vec<&str> = catalogue.text.lines().collect();
    assert!(lines[1].ends_with('…') && lines[1].chars().count() > 200, "{}", lines[1]);
}

#[test]
fn where_no_description_is_worth_it_names_remain_and_then_a_number() {
    let found = skills(&[300; 30]);
    let names = Catalogue::new(&found.skills, 30 * 6 + 30);
    assert!(shown(&names).iter().all(|shown| *shown == Shown::NameOnly), "{}", names.text);
    let few = Catalogue::new(&found.skills, 50);
    let counted = shown(&few).iter().filter(|shown| **shown == Shown::Counted).count();
    assert!(counted > 0 && counted < 30);
    assert!(few.text.ends_with(&format!("[{counted} more skills are not listed: search for them]\n")), "{}", few.text);
    let one = skills(&[300, 300]);
    assert!(Catalogue::new(&one.skills, 6).text.ends_with("[1 more skill is not listed: search for them]\n"));
}

#[test]
fn at_every_budget_each_skill_is_shown_or_counted_and_the_budget_holds() {
    let lengths: Vec<usize> = (0..60).map(|number| (number * 37) % 400 + 1).collect();
    let found = skills(&lengths);
    for budget in (0..20_000).step_by(61) {
        let catalogue = Catalogue::new(&found.skills, budget);
        assert_eq!(catalogue.skills.len(), 60);
        let (mut listed, mut last) = (catalogue.text.as_str(), 0);
        if let Some((before, after)) = catalogue.text.rsplit_once('[') {
            last = after.split(' ').next().unwrap().parse().unwrap();
            listed = before;
        }
        assert!(listed.chars().count() <= budget, "{budget}: {}", listed.chars().count());
        let counted = shown(&catalogue).iter().filter(|shown| **shown == Shown::Counted).count();
        assert_eq!((counted, listed.lines().count()), (last, 60 - last), "{budget}");
        for (listed, line) in
            catalogue.skills.iter().filter(|listed| listed.shown != Shown::Counted).zip(listed.lines())
        {
            let skill = found.choose(&listed.name, None).unwrap();
            let whole = format!("- {}: {}", listed.name, skill.card.description);
            match listed.shown {
                Shown::Whole => assert_eq!(line, whole),
                Shown::Shortened => {
                    let shown = line.strip_suffix('…').unwrap();
                    assert!(whole.starts_with(shown) && shown.len() > listed.name.len() + 10, "{line}");
                }
                Shown::NameOnly | Shown::Counted => assert_eq!(line, format!("- {}", listed.name)),
            }
        }
    }
    assert!(shown(&Catalogue::new(&found.skills, 20_000)).iter().all(|shown| *shown == Shown::Whole));
}
