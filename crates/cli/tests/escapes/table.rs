//! The table of escapes, and how a row of it is tried.

use crate::place::{Done, PROBE, Place, User, finish};
use crate::probe;
use rustix::process::geteuid;

/// Where an attempt is made.
#[derive(Clone, Copy, Debug)]
pub enum Way<'a> {
    Outside,
    /// By `mainpath sandbox` with these flags.
    Sandbox(&'a [&'a str]),
    /// By an agent that calls `bash`.
    Agent,
}

/// The flags that leave the most open.
pub const OPEN: &[&str] = &["--mode", "full", "--network", "allow"];

/// An escape: first it must succeed without the sandbox, then fail inside.
pub struct Escape {
    pub name: &'static str,
    who: Who,
    set_up: fn(&mut Place),
    set_up_by_root: bool,
    /// The words for the probe, see [`Place::fill`].
    words: &'static [&'static str],
    proof: Proof,
}

/// Who can do it outside.
enum Who {
    Anyone,
    Root,
    Ordinary,
}

/// What shows that the deed was done.
enum Proof {
    /// The probe saw its effect.
    Told,
    /// This is not as it was.
    Changed(fn(&Place) -> Vec<String>),
    /// The host sees it.
    Seen(fn(&Place) -> bool),
}

impl Escape {
    /// Done if the probe says so, which looks at the effect itself.
    pub const fn told(name: &'static str, words: &'static [&'static str]) -> Escape {
        Escape { name, who: Who::Anyone, set_up: |_| (), set_up_by_root: false, words, proof: Proof::Told }
    }

    /// Done if anything outside the workspace has changed.
    pub const fn changes(name: &'static str, words: &'static [&'static str]) -> Escape {
        Escape { proof: Proof::Changed(Place::snapshot), ..Escape::told(name, words) }
    }

    /// Done if anything in the workspace has changed.
    pub const fn changes_workspace(name: &'static str, words: &'static [&'static str]) -> Escape {
        Escape { proof: Proof::Changed(Place::workspace), ..Escape::told(name, words) }
    }

    /// Done if the host sees it.
    pub const fn seen(name: &'static str, words: &'static [&'static str], seen: fn(&Place) -> bool) -> Escape {
        Escape { proof: Proof::Seen(seen), ..Escape::told(name, words) }
    }

    /// Only root can do it outside.
    pub const fn by_root(self) -> Escape {
        Escape { who: Who::Root, ..self }
    }

    /// It is an escape for an ordinary user only.
    pub const fn by_ordinary(self) -> Escape {
        Escape { who: Who::Ordinary, ..self }
    }

    pub const fn after(self, set_up: fn(&mut Place)) -> Escape {
        Escape { set_up, ..self }
    }

    /// The same, where it takes root to set it up.
    pub const fn after_root(self, set_up: fn(&mut Place)) -> Escape {
        Escape { set_up, set_up_by_root: true, ..self }
    }

    fn is_for(&self, user: User) -> bool {
        if self.set_up_by_root && !geteuid().is_root() {
            return false;
        }
        match self.who {
            Who::Anyone => true,
            Who::Root => user == User::Root,
            Who::Ordinary => user == User::Ordinary,
        }
    }

    /// What is wrong with it: it must be done outside, and not inside.
    fn problems(&self, user: User, way: Way<'_>) -> impl Iterator<Item = String> + use<> {
        let outside = match self.attempt(user, Way::Outside) {
            Ok((true, _)) => None,
            Ok((false, done)) => Some(format!("does not succeed outside: {done:?}")),
            Err(why) => Some(format!("outside, {why}")),
        };
        let inside = match self.attempt(user, way) {
            Ok((false, _)) => None,
            Ok((true, done)) => Some(format!("SUCCEEDS INSIDE: {done:?}")),
            Err(why) => Some(format!("inside, {why}")),
        };
        outside.into_iter().chain(inside)
    }

    /// Makes the attempt in a new place. Whether the deed was done, and what was said; or why that cannot be told.
    pub fn attempt(&self, user: User, way: Way<'_>) -> Result<(bool, Done), String> {
        let mut place = Place::new(user);
        (self.set_up)(&mut place);
        let words = [&PROBE, self.words].concat();
        let before = match self.proof {
            Proof::Changed(look) => look(&place),
            Proof::Told | Proof::Seen(_) => Vec::new(),
        };
        let done = match way {
            Way::Outside => finish(place.outside(&words)),
            Way::Sandbox(flags) => finish(place.inside(flags, &words)),
            Way::Agent => by_agent(&place, &words)?,
        };
        if !done.err.contains(probe::BEGUN) || ![probe::DONE, probe::PREVENTED, probe::STOPPED].contains(&done.code) {
            return Err(format!("the probe did not work: {done:?}"));
        }
        let deed = match self.proof {
            Proof::Told => done.code == probe::DONE,
            Proof::Changed(look) => look(&place) != before,
            Proof::Seen(seen) => seen(&place),
        };
        Ok((deed, done))
    }
}

/// Has an agent call its tool `bash` with the words.
fn by_agent(place: &Place, words: &[&str]) -> Result<Done, String> {
    let words: Vec<String> = words.iter().map(|word| format!("'{}'", place.fill(word))).collect();
    let command = format!("trap '' USR1; {} 2> said; echo $? > code", words.join(" "));
    let script = serde_json::json!({"turn": [
        {"calls": [{"tool": "bash", "args": {"command": command}}]},
        {"final": "That was it."},
    ]});
    std::fs::write(place.path("agent.json"), script.to_string()).unwrap();
    let run = ["{bin}/mainpath", "run", "--yes", "--model", "scripted:{root}/agent.json", "Do it."];
    let mut done = finish(place.outside(&run));
    let text = |name: &str| std::fs::read_to_string(place.work().join(name)).unwrap_or_default();
    done.code = text("code").trim().parse().map_err(|_| format!("the agent did not call its tool: {done:?}"))?;
    done.err += &text("said");
    Ok(done)
}

/// Tries every escape of a table as every user, outside and inside a sandbox with these flags.
pub fn all_fail_inside(flags: &[&str], table: &[Escape]) {
    all_fail(&[(Way::Sandbox(flags), table)]);
}

/// The same for several tables, and ways into a sandbox.
pub fn all_fail(tables: &[(Way<'_>, &[Escape])]) {
    let mut failures = Vec::new();
    for (way, table) in tables {
        for (user, escape) in User::all().iter().flat_map(|user| table.iter().map(move |escape| (*user, escape))) {
            if escape.is_for(user) {
                let found = escape.problems(user, *way);
                failures.extend(found.map(|why| format!("{user:?}, {}, {way:?}: {why}", escape.name)));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}\n", failures.len(), failures.join("\n"));
}
