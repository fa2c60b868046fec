//! The question about a call that waits: how it is asked, and what is made of the answer.

use crate::commands::control::fits;
use crate::exit::{Exit, Failure};
use crate::runs::follow::Follow;
use crate::traces::allow::{in_a_line, leads, offered, why};
use crate::traces::asked::{what, whole_of};
use crate::traces::wanted::{Asks, CallAt, Wanted, wanted};
use crate::ui::decision_commands::{and_resume, approval};
use crate::ui::prompt::{Said, understand};
use crate::ui::say::tell;
use crate::ui::term::screen;
use crate::ui::text::{count, one_line, plain, were};
use crate::ui::told::child_name;
use mainpath::policy::{EVERY_FILE_HERE, is_asked_by_default, is_for_files_here};
use mainpath::runtime::{Mail, Waiting};
use mainpath::spec_of;
use mainpath::trace::DecidableCall;
use mainpath::types::{ApprovalMode, CallId, Origin, Spec, TraceId};
use std::sync::Arc;

/// So many rows of a call are shown with the question about it; a longer one on demand.
const ROWS: usize = 60;
/// The width that rows are counted for, in characters.
const WIDTH: usize = 80;

/// What the words that a question takes mean.
const HELP: &str = "  y          allow this call
  n WHY      deny it, and tell the agent why
  t          allow it, and calls like it (the rule above) in this trace
  f          allow it, and every change to files in this folder, in this trace
  w          allow it, and calls like it, in every trace from now on
  e NEW      run it with another command, or other arguments as JSON
  a          allow it, and what --yes allows in this run; guarded files and what a rule asks about still ask
  d          show the whole call
  l          decide later with mainpath approve or mainpath deny
  /steer …   send the agent a message now
";

/// They stand behind so many columns.
const HANG: usize = 13;

/// Whether a call is asked about for no more than that it changes files of the folder.
fn changes_files_here(made: &DecidableCall) -> bool {
    let by_default = made.verdict.as_ref().is_some_and(is_asked_by_default);
    by_default && made.places.is_empty() && made.offer.as_deref().is_some_and(is_for_files_here)
}

/// The rules that a call can be allowed by besides: by which letters.
fn rules(made: &DecidableCall) -> &'static [&'static str] {
    match made.offer.is_some() {
        true if changes_files_here(made) => &["t", "f", "w"],
        true => &["t", "w"],
        false => &[],
    }
}

/// The letters that a question about a call takes, in a line.
fn letters(made: &DecidableCall) -> String {
    let rules: String = rules(made).iter().map(|letter| format!("{letter}, ")).collect();
    format!("y, n, {rules}e and the new command or arguments, a, d, l or ?")
}

/// What they mean, a line each.
fn meanings(made: &DecidableCall) -> impl Iterator<Item = &'static str> {
    let offered = rules(made);
    HELP.lines().filter(move |line| {
        let letter = line.split_whitespace().next().unwrap_or_default();
        !matches!(letter, "t" | "f" | "w") || offered.contains(&letter)
    })
}

/// The name of a call's tool.
fn tool(made: &DecidableCall) -> String {
    one_line(made.tool.as_deref().unwrap_or_default())
}

/// How many of these lines fit.
fn fitting(lines: &[String]) -> usize {
    let mut rows = 0;
    let fits = |line: &&String| {
        rows += 1 + line.chars().count() / WIDTH;
        rows <= ROWS
    };
    lines.iter().take_while(fits).count()
}

/// The keys that answer at once. Those that allow more than this call want an Enter.
const KEYS: &str = "yndl?";

impl Follow<'_> {
    /// The calls that nobody has decided on, in order: those of agents that the run has started come last.
    async fn undecided(&self, waiting: &[Waiting]) -> Result<Vec<Wanted>, Failure> {
        let mut wanted = wanted(&self.app.logs, &self.trace, waiting).await?;
        wanted.retain(|one| !self.decided.contains(&one.at));
        Ok(wanted)
    }

    /// Approves a call that a rule given here covers: it was judged before there was one.
    pub async fn allowed_by_rule(&mut self, waiting: &[Waiting]) -> Result<bool, Failure> {
        let undecided = self.undecided(waiting).await?;
        let calls = undecided.iter().find_map(|wanted| match &wanted.asks {
            Asks::Approval(call) => Some((&wanted.at, call)),
            Asks::Answer(_) => None,
        });
        let Some((at, made)) = calls else { return Ok(false) };
        let is_given = |rule: &String| self.rules.contains(rule);
        let by_files = || {
            (changes_files_here(made) && self.rules.iter().any(|rule| rule == EVERY_FILE_HERE))
                .then(|| EVERY_FILE_HERE.into())
        };
        let Some(rule) = made.offer.clone().filter(is_given).or_else(by_files) else { return Ok(false) };
        self.printer.line("·", &format!("{} is allowed by {}", tool(made), in_a_line(&rule)));
        self.decided.insert(at.clone());
        self.app.host.runtime().send(&self.app.logs.scope, &at.trace, &Mail::approve(at.call)).await?;
        Ok(true)
    }

    /// A parked trace: ask, or leave it.
    pub async fn parked(&mut self, waiting: &[Waiting]) -> Result<Option<Exit>, Failure> {
        let mut undecided = self.undecided(waiting).await?;
        if undecided.is_empty() {
            return Ok(None);
        }
        if !self.attended {
            let several = undecided.len() > 1;
            for wanted in &undecided {
                match &wanted.asks {
                    Asks::Approval(call) => self.leave(&wanted.at, call, several),
                    Asks::Answer(question) => self.leave_question(&wanted.at, question),
                }
            }
            return Ok(Some(Exit::ApprovalNeeded));
        }
        let wanted = undecided.swap_remove(0);
        if self.asked.as_ref().is_some_and(|asked| asked.at == wanted.at) {
            return Ok(None);
        }
        screen::ring();
        let made = match &wanted.asks {
            Asks::Approval(call) => call,
            Asks::Answer(question) => {
                self.show_question(&wanted.at, question);
                self.asked = Some(wanted);
                return Ok(None);
            }
        };
        let who = self.child_of(&wanted.at).map(|child| format!("agent {child}: ")).unwrap_or_default();
        self.printer.line("?", &format!("{who}allow {}", what(made)));
        let lines = whole_of(made);
        let shown = fitting(&lines);
        lines.iter().take(shown).for_each(|line| self.printer.rail(line));
        self.unseen = lines.len() - shown;
        if self.unseen > 0 {
            let more = count(self.unseen as u64, "more line");
            eprintln!("  │ … {more}: press d to see all before you can allow it");
        }
        for line in made.verdict.iter().map(why).chain(leads(&made.places)) {
            eprintln!("  {line}");
        }
        let foreign: Vec<&str> =
            made.origins.iter().filter(|origin| origin.is_foreign()).map(|origin| said_by(*origin)).collect();
        if !foreign.is_empty() {
            eprintln!("  contains text from {}", foreign.join(" and "));
        }
        made.offer.iter().flat_map(|rule| rule.lines()).for_each(|line| eprintln!("  rule: {}", one_line(line)));
        self.ask_for_word("", made);
        self.asked = Some(wanted);
        Ok(None)
    }

    /// Says what is to be decided where nobody can be asked.
    fn leave(&mut self, at: &CallAt, made: &DecidableCall, several: bool) {
        let CallAt { trace, call } = at;
        let who = self.child_of(at).map(|child| format!(" of agent {child}")).unwrap_or_default();
        self.say(&format!(
            "call {call}{who} ({}) needs approval: {}{}",
            what(made),
            approval(trace, several.then_some(*call), false),
            and_resume(&self.trace)
        ));
        for line in whole_of(made) {
            self.printer.rail(&line);
        }
        let why = made.verdict.iter().map(why).chain(leads(&made.places));
        for line in why.chain(made.offer.as_deref().map(offered)) {
            self.printer.line("·", &line);
        }
    }

    /// The agent whose call it is, if it is none of this run's own.
    pub(super) fn child_of(&self, at: &CallAt) -> Option<String> {
        let child = &at.trace;
        (*child != self.trace).then(|| child_name(&self.trace, child).into())
    }

    /// Asks at the lower edge of the terminal, or else in a line that stays open.
    pub fn ask(&self, prompt: &str) {
        self.ask_with(prompt, KEYS);
    }

    /// The same, with the keys that answer at once.
    pub fn ask_with(&self, prompt: &str, keys: &'static str) {
        if !screen::ask(prompt, keys) {
            eprint!("{prompt}");
        }
    }

    /// Asks again for one of the words.
    pub fn ask_again(&self) {
        match self.asked.as_ref().map(|asked| &asked.asks) {
            Some(Asks::Answer(question)) => self.ask_for_answer("", question),
            Some(Asks::Approval(call)) => self.ask(&format!("  {}: ", letters(call))),
            None => {}
        }
    }

    /// Nothing is asked any more.
    pub fn asked_no_more(&mut self) {
        self.asked = None;
        screen::ask("", "");
    }

    /// The words that a question takes.
    fn ask_for_word(&self, before: &str, made: &DecidableCall) {
        let seen = if self.unseen > 0 { "[d]etails" } else { "[y]es" };
        let rule = match made.offer.is_some() && self.unseen == 0 {
            true if changes_files_here(made) => "for this [t]race, all [f]iles here, al[w]ays, ",
            true => "for this [t]race, al[w]ays, ",
            false => "",
        };
        let all = if self.unseen > 0 { "" } else { "[e]dit …, [a]ll in this run, " };
        self.ask(&format!("{before}  {seen}, [n]o (and why), {rule}{all}[l]ater, [?]: "));
    }

    pub async fn decide(&mut self, line: Option<String>) -> Result<Option<Exit>, Failure> {
        let Some(wanted) = self.asked.clone() else { return Ok(None) };
        let Wanted { at, asks } = wanted;
        let made = match asks {
            Asks::Approval(call) => call,
            Asks::Answer(question) => return self.answer_question(&at, &question, line).await,
        };
        let CallAt { trace, call } = at.clone();
        let said = line.as_deref().map_or(Said::Later, understand);
        let allows = matches!(said, Said::Yes | Said::Trace | Said::Files | Said::Always | Said::All | Said::Edit(_));
        let mail = match said {
            Said::Details => {
                whole_of(&made).iter().for_each(|line| self.printer.rail(line));
                self.unseen = 0;
                self.ask_for_word("", &made);
                return Ok(None);
            }
            Said::Help => {
                meanings(&made).for_each(|line| tell(line, HANG));
                self.ask_for_word("", &made);
                return Ok(None);
            }
            Said::Unclear => {
                self.ask_again();
                return Ok(None);
            }
            _ if allows && self.unseen > 0 => {
                let unseen = format!("  {} not shown yet; press d first;", were(self.unseen as u64, "line"));
                self.ask_for_word(&unseen, &made);
                return Ok(None);
            }
            Said::Trace | Said::Always if made.offer.is_none() => {
                self.ask(&format!("  no narrow rule can cover this call; {}: ", letters(&made)));
                return Ok(None);
            }
            Said::Files if !changes_files_here(&made) => {
                self.ask(&format!("  f does not cover this call; {}: ", letters(&made)));
                return Ok(None);
            }
            Said::Files => self.with_rule(call, Some(EVERY_FILE_HERE.into())),
            Said::Trace => self.with_rule(call, made.offer),
            Said::Always => {
                let rule = made.offer.unwrap_or_default();
                let file = self.app.logs.home.allow_always(&rule, &trace, call)?;
                self.say(&format!(
                    "{} is allowed in every trace from now on; the rule is in {}",
                    in_a_line(&rule),
                    file.display()
                ));
                self.with_rule(call, Some(rule))
            }
            Said::Edit(text) => match edited(made.arguments.as_deref().unwrap_or_default(), &text) {
                Some(arguments) => match fits(self.app, &trace, call, &arguments).await {
                    Ok(()) => Mail::Approve { call, arguments: Some(arguments), rule: None },
                    Err(problem) => {
                        self.ask(&format!("  {}: ", plain(&problem.message)));
                        return Ok(None);
                    }
                },
                None => {
                    self.ask("  e needs a new command, or arguments as a JSON object: ");
                    return Ok(None);
                }
            },
            Said::Later => {
                self.say(&format!(
                    "left pending; decide later with {} or mainpath deny {trace} --call {call}",
                    approval(&trace, Some(call), false)
                ));
                return Ok(Some(Exit::ApprovalNeeded));
            }
            Said::No(reason) => Mail::Deny { call, reason },
            Said::Yes => Mail::approve(call),
            Said::All => {
                self.allow_all(&trace).await?;
                Mail::approve(call)
            }
        };
        self.asked_no_more();
        self.decided.insert(at);
        if trace == self.trace && !matches!(mail, Mail::Approve { arguments: Some(_), .. }) {
            self.seen.insert(call);
        }
        match self.app.host.runtime().send(&self.app.logs.scope, &trace, &mail).await {
            Ok(_) => Ok(None),
            // Somebody there may still decide.
            Err(refused) if trace.elsewhere().is_some() => {
                self.say(&plain(&refused.to_string()));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// An approval that makes a rule hold for the rest of the trace.
    fn with_rule(&mut self, call: CallId, rule: Option<String>) -> Mail {
        self.rules.extend(rule.clone());
        Mail::Approve { call, arguments: None, rule }
    }

    /// From the next turn on the spec says yes, up to the end of this run.
    async fn allow_all(&mut self, trace: &TraceId) -> Result<(), Failure> {
        let (log, state, _) = self.app.logs.read(trace).await?;
        if let Some(spec) = spec_of(&log) {
            let spec = Arc::new(Spec { mode: ApprovalMode::Yes, mode_for: Some(state.counts.runs), ..spec.clone() });
            self.app.host.runtime().send(&self.app.logs.scope, trace, &Mail::SetSpec { spec }).await?;
        }
        Ok(())
    }
}

/// Whose words they are, for people.
fn said_by(origin: Origin) -> &'static str {
    match origin {
        Origin::Web => "the web",
        Origin::Mcp => "an MCP server",
        Origin::Message => "another agent's message",
        Origin::User | Origin::Workspace | Origin::Model => "here",
    }
}

/// The arguments as a person has changed them: a JSON object, or another command where the call has one.
fn edited(old: &str, text: &str) -> Option<String> {
    if let Ok(map) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text) {
        return serde_json::to_string(&map).ok();
    }
    let mut map: serde_json::Map<String, serde_json::Value> = serde_json::from_str(old).ok()?;
    map.get("command").is_some_and(serde_json::Value::is_string).then(|| map.insert("command".into(), text.into()))?;
    serde_json::to_string(&map).ok()
}
