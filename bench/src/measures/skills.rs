//! What it costs to know a thousand skills, and how well they are found.

use crate::Fail;
use crate::measures::ms;
use crate::process::{folder, now};
use crate::stats::median;
use crate::table::Row;
use mainpath_skills::{Known, Places, Search, Skills};
use mainpath_testkit::skills::sample_skills;

/// Indexing a thousand skills, and finding among them. Cold: no cache is kept; the kernel's is warm. Warm: the cache is read from a file.
pub fn skills(quick: bool) -> Result<Vec<Row>, Fail> {
    let folder = folder()?;
    let (skills, questions) = sample_skills();
    for skill in &skills {
        let place = folder.path().join("skills").join(&skill.name);
        std::fs::create_dir_all(&place)?;
        std::fs::write(place.join("SKILL.md"), skill.text())?;
    }
    let places = Places { home: Some(folder.path().into()), ..Places::default() };
    let kept = folder.path().join("known.json");
    let (mut cold, mut warm, mut searches) = (Vec::new(), Vec::new(), Vec::new());
    let mut found = Skills::default();
    for _ in 0..if quick { 5 } else { 30 } {
        let (began, mut known) = (now(), Known::default());
        found = Skills::read_known(&places, &mut known);
        cold.push((now() - began) as f64);
        std::fs::write(&kept, serde_json::to_vec(&known)?)?;
        let began = now();
        let mut known: Known = serde_json::from_slice(&std::fs::read(&kept)?)?;
        let again = Skills::read_known(&places, &mut known);
        warm.push((now() - began) as f64);
        if again != found || found.skills.len() != skills.len() {
            return Err(format!("{} skills cold, {} warm", found.skills.len(), again.skills.len()).into());
        }
    }
    let search = Search::new(&found.skills);
    let mut answered = 0;
    for question in &questions {
        let began = now();
        let hits = search.find(&question.asked, 3);
        searches.push((now() - began) as f64);
        answered += usize::from(hits.iter().any(|hit| hit.name == question.skill));
    }
    let (cold, warm, recall) = (median(&cold), median(&warm), answered as f64 / questions.len() as f64);
    Ok(vec![
        Row::goal("1,000 skills indexed, cold", "< 50 ms", ms(cold), cold < 50e6),
        Row::goal("the same, warm", "< 5 ms", ms(warm), warm < 5e6),
        Row::goal("recall@3: 200 questions to 1,000 skills", ">= 0.9", format!("{recall:.3}"), recall >= 0.9),
        Row::note("a search in them", ms(median(&searches))),
    ])
}
