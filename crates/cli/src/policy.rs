//! `mainpath policy`, and the rules of a run put together from their files and flags.
//!
//! Where rules come from: Mainpath itself, `policy.toml` beside the configuration, `.mainpath/policy.toml` in the workspace,
//! the command line, and `/etc/mainpath/policy.toml` of the organisation. What the workspace's file allows holds only once
//! its user has said so (`mainpath policy trust`), and only for the very text that was trusted.

use crate::agent;
use crate::app::App;
use crate::args::{PolicyArgs, PolicyCheckArgs, PolicyCommand, PolicyListArgs, PolicyTrustArgs, RuleArgs};
use crate::browse::out;
use crate::config::Home;
use crate::exit::{Exit, Failure};
use crate::history;
use crate::text::plain;
use mainpath_policy::{CallFacts, Explanation, Folders, Layer, Policy, PolicyError, Rule, Rules, explain, sample};
use mainpath_tools::{Tools, Workspace};
use mainpath_types::{ApprovalMode, Decision, Destination, RuleText, RunRules};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a project keeps its rules, from the workspace on.
const PROJECT_FILE: &str = ".mainpath/policy.toml";
/// Where an organisation keeps its rules. `MAINPATH_ORG_POLICY` names a further file, whose rules hold as well.
const ORGANISATION_FILE: &str = "/etc/mainpath/policy.toml";
/// The largest rule file, in bytes.
const LARGEST: u64 = 1024 * 1024;

/// Where the rules of a run come from.
#[derive(Clone, Debug)]
pub struct Sources {
    config: PathBuf,
    data: PathBuf,
    /// What the command line adds.
    pub run: RunRules,
}

impl RuleArgs {
    /// The rules, with the text of their files. Errors: a file is not there, or cannot be read.
    pub fn read(&self) -> Result<RunRules, Failure> {
        let text = |file: &PathBuf| {
            let text = read(file)?;
            let text = text.ok_or_else(|| Failure::usage(format!("--policy: there is no file {}", file.display())))?;
            Ok(RuleText { name: file.display().to_string(), text })
        };
        let files = self.policy.iter().map(text).collect::<Result<Vec<_>, Failure>>()?;
        let RuleArgs { allow, ask, deny, .. } = self.clone();
        Ok(RunRules { allow, ask, deny, files })
    }
}

impl Sources {
    /// The files of this installation.
    pub fn new(home: &Home) -> Sources {
        Sources { config: home.config_dir().into(), data: home.data.clone(), run: RunRules::default() }
    }

    /// All rules that hold in a workspace for who is run with these. Errors: file or flag, line, what is wrong.
    pub fn load(&self, workspace: &str, run: &RunRules) -> Result<Policy, Failure> {
        let home = std::env::var("HOME").unwrap_or_default();
        // Paths are judged by the place that they lead to.
        let home = Path::new(&home).canonicalize().map_or(home, |place| place.display().to_string());
        let bad = |error: PolicyError| Failure::error(error.to_string());
        let mut policy = Policy::builtin(Folders { workspace: workspace.into(), home }).map_err(bad)?;
        let further = std::env::var_os("MAINPATH_ORG_POLICY").filter(|file| !file.is_empty());
        for file in [Some(ORGANISATION_FILE.into()), further.map(PathBuf::from)].into_iter().flatten() {
            add(&mut policy, Layer::Organisation, &file)?;
        }
        add(&mut policy, Layer::User, &self.config.join("policy.toml"))?;
        let file = Path::new(workspace).join(PROJECT_FILE);
        if let Some(text) = read(&file)? {
            let name = file.display().to_string();
            let trusted = self.trusted()?.get(workspace).is_some_and(|known| *known == hash(&text));
            let added = match trusted {
                true => policy.add_file(Layer::Project, &name, &text),
                false => policy.add_untrusted(&name, &text),
            };
            added.map_err(bad)?;
        }
        for RuleText { name, text } in &run.files {
            policy.add_file(Layer::Run, name, text).map_err(bad)?;
        }
        let RunRules { allow, ask, deny, .. } = run;
        for (decision, texts) in [(Decision::Allow, allow), (Decision::Ask, ask), (Decision::Deny, deny)] {
            for text in texts {
                policy.add_rule(decision, text).map_err(|error| Failure::usage(error.to_string()))?;
            }
        }
        Ok(policy)
    }

    fn trust_file(&self) -> PathBuf {
        self.data.join("trusted-policies.json")
    }

    /// The workspaces whose rules are trusted, each with the hash of the text that was. Errors: the file cannot be read.
    fn trusted(&self) -> Result<BTreeMap<String, String>, Failure> {
        let file = self.trust_file();
        let Some(text) = read(&file)? else { return Ok(BTreeMap::new()) };
        serde_json::from_str(&text).map_err(|error| Failure::error(format!("{}: {error}", file.display())))
    }
}

/// Adds a file's rules, if there is such a file.
fn add(policy: &mut Policy, layer: Layer, file: &Path) -> Result<bool, Failure> {
    let Some(text) = read(file)? else { return Ok(false) };
    policy.add_file(layer, &file.display().to_string(), &text).map_err(|error| Failure::error(error.to_string()))?;
    Ok(true)
}

/// A file's text, or `None` if there is none. Errors: it is too large, no text, no file, or cannot be read.
fn read(file: &Path) -> Result<Option<String>, Failure> {
    let bad = |why: String| Failure::error(format!("{} cannot be used: {why}", file.display()));
    let known = match std::fs::metadata(file) {
        Ok(known) => known,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(bad(error.to_string())),
    };
    // A pipe in a strange repository would keep the one who opens it waiting.
    if !known.is_file() {
        return Err(bad("it is not a file".into()));
    }
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    opened.map_err(|error| bad(error.to_string()))?;
    if bytes.len() as u64 > LARGEST {
        return Err(bad("it is larger than 1 MiB".into()));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| bad("it is not UTF-8 text".into()))
}

fn hash(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What to say of rules that do not hold because nobody has trusted them.
pub fn untrusted(policy: &Policy) -> Option<String> {
    let ignored = policy.rules().iter().filter(|rule| rule.layer == Layer::Project && rule.ignored.is_some()).count();
    let what = if ignored == 1 { "a rule" } else { "rules" };
    (ignored > 0).then(|| {
        format!(
            "{PROJECT_FILE} allows something by {what}, but you have not trusted it; only its asks and denials apply: \
             mainpath policy trust"
        )
    })
}

/// `mainpath policy`
pub async fn policy(args: PolicyArgs) -> Result<Exit, Failure> {
    let home = Home::find()?;
    match args.command {
        PolicyCommand::Check(args) => check(&home, args),
        PolicyCommand::List(args) => list(&home, args),
        PolicyCommand::Trust(args) => trust(&home, args),
        PolicyCommand::Replay(args) => history::replay(args).await,
    }
}

/// `mainpath policy check`
fn check(home: &Home, args: PolicyCheckArgs) -> Result<Exit, Failure> {
    let folder = agent::workspace(args.workspace.as_deref())?;
    let policy = Sources::new(home).load(&folder.display().to_string(), &args.rules.read()?)?;
    let workspace = Workspace::new(&folder, home.protected())?;
    let (tools, _) = home.toolbox();
    let mut facts = facts(&tools, &args.call, args.arguments.as_deref(), &workspace, policy.folders())?;
    facts.origins = args.origin.into_iter().map(Into::into).collect();
    facts.destinations = from_text(&facts.arguments, &args.from_text)?;
    facts.confined = mainpath_sandbox::Launcher::current_exe().support().can_confine();
    let rules = Rules {
        mode: if args.yes { ApprovalMode::Yes } else { ApprovalMode::Ask },
        access: args.mode.map(Into::into).or(home.config.mode).unwrap_or_default(),
        allowed_tools: vec![facts.tool.clone()],
        policy: Arc::new(policy),
    };
    let found = explain(&rules, &facts);
    if args.json {
        out(&json!({ "call": args.call, "explanation": found, "policy": rules.policy.hash() }).to_string())?;
    } else {
        show(&args.call, &found)?;
    }
    Ok(match found.verdict.decision {
        Decision::Allow => Exit::Ok,
        Decision::Ask => Exit::ApprovalNeeded,
        Decision::Deny => Exit::Denied,
    })
}

/// The arguments that hold these values, as if somebody's text had named them. Errors: no argument holds one.
fn from_text(arguments: &Value, values: &[String]) -> Result<Vec<Destination>, Failure> {
    fn look(at: &Value, argument: &str, wanted: &str, found: &mut Vec<Destination>) {
        match at {
            Value::String(text) if text.contains(wanted) => {
                found.push(Destination { argument: argument.into(), value: wanted.into(), call: None, tool: None });
            }
            Value::Number(number) if number.to_string() == wanted => {
                found.push(Destination { argument: argument.into(), value: wanted.into(), call: None, tool: None });
            }
            Value::Array(items) => items.iter().for_each(|item| look(item, argument, wanted, found)),
            Value::Object(map) => map.iter().for_each(|(name, value)| {
                let dot = if argument.is_empty() { "" } else { "." };
                look(value, &format!("{argument}{dot}{name}"), wanted, found);
            }),
            _ => {}
        }
    }
    let mut all = Vec::new();
    for wanted in values {
        let mut found = Vec::new();
        look(arguments, "", wanted, &mut found);
        if found.is_empty() {
            return Err(Failure::usage(format!("--from-text {wanted:?}: no argument of the call holds it")));
        }
        all.append(&mut found);
    }
    Ok(all)
}

/// The facts of a call, be it in a line or with its arguments as JSON.
fn facts(
    tools: &Tools,
    call: &str,
    arguments: Option<&str>,
    workspace: &Workspace,
    folders: &Folders,
) -> Result<CallFacts, Failure> {
    let plan = |tool: &str, arguments: &str| {
        let one_line =
            |text: String| text.lines().map(|line| line.trim_start_matches("- ")).collect::<Vec<_>>().join("; ");
        tools.plan(tool, arguments, workspace).map_err(|problem| Failure::usage(one_line(problem.to_string())))
    };
    if let Some(arguments) = arguments.filter(|_| call.starts_with("mcp__")) {
        return sample(&format!("{call}({arguments})"), folders).map_err(Failure::usage);
    }
    if let Some(arguments) = arguments {
        return Ok(plan(call, arguments)?.facts);
    }
    let mut facts = sample(call, folders).map_err(Failure::usage)?;
    for path in &mut facts.paths {
        let found = plan("read_text_file", &json!({ "path": path.path }).to_string())?.facts.paths;
        if let Some(found) = found.into_iter().next() {
            let write = path.write;
            *path = found;
            path.write = write;
        }
    }
    Ok(facts)
}

fn show(call: &str, found: &Explanation) -> Result<(), Failure> {
    let verdict = &found.verdict;
    out(&format!("{}: {}", verdict.decision.as_str(), plain(call)))?;
    out(&format!("  by {}: {}", verdict.rule, plain(&verdict.reason)))?;
    if found.parts.len() > 1 {
        out("parts:")?;
        for part in &found.parts {
            out(&format!("  {}: {}, by {}", part.decision.as_str(), plain(&part.part), part.rule))?;
        }
    }
    if !found.rules.is_empty() {
        out("matching rules, by layer:")?;
        for rule in &found.rules {
            let maybe = if rule.certain { "" } else { " (maybe: not all of it is known before it runs)" };
            let (layer, decision) = (rule.layer.prefix(), rule.decision.as_str());
            out(&format!("  {layer}: {decision} by {}, for {}{maybe}", rule.rule, plain(&rule.part)))?;
        }
    }
    Ok(())
}

/// `mainpath policy list`
fn list(home: &Home, args: PolicyListArgs) -> Result<Exit, Failure> {
    let folder = agent::workspace(args.workspace.as_deref())?;
    let policy = Sources::new(home).load(&folder.display().to_string(), &args.rules.read()?)?;
    for rule in policy.rules() {
        out(&if args.json { as_json(rule).to_string() } else { plain(&as_line(rule)) })?;
    }
    if let Some(note) = untrusted(&policy).filter(|_| !args.json) {
        eprintln!("mainpath: {note}");
    }
    Ok(Exit::Ok)
}

fn as_json(rule: &Rule) -> serde_json::Value {
    let place = rule.place.as_ref().map(|(file, line)| json!({ "file": file, "line": line }));
    json!({
        "layer": rule.layer, "id": rule.id, "decision": rule.decision, "match": rule.matches, "origin": rule.origins,
        "effect": rule.effects, "reason": rule.reason, "always": rule.always, "place": place, "ignored": rule.ignored,
    })
}

fn as_line(rule: &Rule) -> String {
    let origins: Vec<String> = rule.origins.iter().map(|origin| json!(origin).as_str().unwrap_or("").into()).collect();
    let origins = match (origins.is_empty(), rule.destination) {
        (true, true) => " if destination = text".into(),
        (true, false) => String::new(),
        (false, _) => format!(" if origin = {}", origins.join(", ")),
    };
    let always = if rule.always { " always" } else { "" };
    let ignored = rule.ignored.map(|why| format!(" [ignored: {why}]")).unwrap_or_default();
    let matches = rule.matches.join(", ");
    format!("{}: {}{always} {}: {matches}{origins}{ignored}", rule.layer.prefix(), rule.decision.as_str(), rule.id)
}

/// `mainpath policy trust`
fn trust(home: &Home, args: PolicyTrustArgs) -> Result<Exit, Failure> {
    let folder = agent::workspace(args.workspace.as_deref())?.display().to_string();
    let sources = Sources::new(home);
    let mut trusted = sources.trusted()?;
    let file = Path::new(&folder).join(PROJECT_FILE);
    if args.revoke {
        let known = trusted.remove(&folder).is_some();
        save(&sources, &trusted)?;
        out(&format!("{folder} {}", if known { "is no longer trusted" } else { "was not trusted" }))?;
        return Ok(Exit::Ok);
    }
    let Some(text) = read(&file)? else {
        return Err(Failure::error(format!("there is nothing to trust: {} does not exist", file.display())));
    };
    let policy = sources.load(&folder, &RunRules::default())?;
    for rule in policy.rules().iter().filter(|rule| rule.layer == Layer::Project && rule.decision == Decision::Allow) {
        out(&plain(&format!("allow {}: {}", rule.id, rule.matches.join(", "))))?;
    }
    trusted.insert(folder, hash(&text));
    save(&sources, &trusted)?;
    out(&format!("{} is trusted in its present text; trust it again after a change", file.display()))?;
    Ok(Exit::Ok)
}

fn save(sources: &Sources, trusted: &BTreeMap<String, String>) -> Result<(), Failure> {
    let file = sources.trust_file();
    std::fs::create_dir_all(&sources.data)?;
    let part = file.with_extension(format!("{}.part", std::process::id()));
    std::fs::write(&part, format!("{:#}\n", json!(trusted)))?;
    std::fs::rename(&part, &file)?;
    Ok(())
}

/// The rules of a run, checked before anything is begun; says what of them does not hold.
pub fn check_rules(app: &App, workspace: &str, run: RunRules, quiet: bool) -> Result<Checked, Failure> {
    let policy = app.sources.load(workspace, &run)?;
    if let Some(note) = untrusted(&policy).filter(|_| !quiet) {
        eprintln!("mainpath: {note}");
    }
    Ok(Checked { workspace: workspace.into(), run, policy: Arc::new(policy) })
}

/// The rules of a workspace as they have just been loaded.
pub struct Checked {
    /// Its folder.
    pub workspace: String,
    /// What the caller gave.
    pub run: RunRules,
    /// All rules.
    pub policy: Arc<Policy>,
}
