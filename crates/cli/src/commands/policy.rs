//! `mainpath policy`: the rules, and how they decide.

use crate::args::agent::ModeArg;
use crate::args::rules::RuleArgs;
use crate::commands::policy_backtest::PolicyBacktestArgs;
use crate::commands::policy_replay::PolicyReplayArgs;
use crate::commands::policy_suggest::PolicySuggestArgs;
use crate::commands::policy_test::PolicyTestArgs;
use crate::exit::{Exit, Failure};
use crate::ui::out::out;
use crate::ui::person::person_only;
use crate::ui::text::one_line;
use clap::{Args, Subcommand, ValueEnum};
use mainpath::agent;
use mainpath::policy::{CallFacts, Explanation, Folders, Layer, Policy, Rule, Rules, explain, sample};
use mainpath::policy_tests::from_text;
use mainpath::rules::{Sources, read_files, untrusted};
use mainpath::rules_asked::sample_in;
use mainpath::tools::{Tools, Workspace};
use mainpath::types::{ApprovalMode, Decision, MCP_TOOLS, Origin, RunRules};
use mainpath::{Error, Home, RuleNames};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `mainpath policy`
#[derive(Args, Debug)]
pub struct PolicyArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PolicyCommand,
}

/// `mainpath policy …`
#[derive(Subcommand, Debug)]
pub enum PolicyCommand {
    /// Check how the rules decide on a call, and why: exit code 0 allow, 5 ask, 6 deny
    Check(PolicyCheckArgs),
    /// List the rules that apply in a folder
    List(PolicyListArgs),
    /// Trust the folder's .mainpath/policy.toml in its present text, so that its allow rules apply
    Trust(PolicyTrustArgs),
    /// Apply today's rules to the calls of a trace, and show what would be decided differently
    Replay(PolicyReplayArgs),
    /// Judge all recorded calls by other rules: what would be stricter, what looser; exit code 6 by --fail-on
    Backtest(PolicyBacktestArgs),
    /// Suggest the narrowest rules that would have answered what you were asked, with what else each would have allowed
    Suggest(PolicySuggestArgs),
    /// Check the examples of rule files: exit code 6 if a verdict differs
    Test(PolicyTestArgs),
}

/// `mainpath policy check`
#[derive(Args, Debug)]
pub struct PolicyCheckArgs {
    /// The call, such as "bash(git push)", "write(src/main.rs)", "http_request(POST https://example.com/x)"; or a tool's name,
    /// with the arguments after it
    pub call: String,
    /// The tool's arguments, as a JSON object
    pub arguments: Option<String>,
    /// The folder to work in [default: the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Where the arguments came from. May be repeated
    #[arg(long, value_enum, value_name = "WHERE")]
    pub origin: Vec<OriginArg>,
    /// A value in the arguments that comes from somebody's text and that no person named. May be repeated
    #[arg(long, value_name = "VALUE")]
    pub from_text: Vec<String>,
    /// What is allowed without asking [default: the configuration's]
    #[arg(long, value_enum)]
    pub mode: Option<ModeArg>,
    /// As in a run with --yes
    #[arg(short, long)]
    pub yes: bool,
    #[command(flatten)]
    pub rules: RuleArgs,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `--origin`
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginArg {
    /// You, or whoever gives the agent its tasks
    User,
    /// Files of the workspace
    Workspace,
    /// The network
    Web,
    /// An MCP server
    Mcp,
    /// A message from another agent or person
    Message,
    /// The model itself
    Model,
}

impl From<OriginArg> for Origin {
    fn from(arg: OriginArg) -> Origin {
        match arg {
            OriginArg::User => Origin::User,
            OriginArg::Workspace => Origin::Workspace,
            OriginArg::Web => Origin::Web,
            OriginArg::Mcp => Origin::Mcp,
            OriginArg::Message => Origin::Message,
            OriginArg::Model => Origin::Model,
        }
    }
}

/// `mainpath policy list`
#[derive(Args, Debug)]
pub struct PolicyListArgs {
    /// The folder to work in [default: the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    #[command(flatten)]
    pub rules: RuleArgs,
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `mainpath policy trust`
#[derive(Args, Debug)]
pub struct PolicyTrustArgs {
    /// The folder [default: the current folder]
    pub workspace: Option<PathBuf>,
    /// Withdraw the trust
    #[arg(long)]
    pub revoke: bool,
}

impl RuleArgs {
    /// The rules, with the text of their files. Errors: a file is not there, or cannot be read.
    pub fn read(&self) -> Result<RunRules, Failure> {
        let RuleArgs { allow, ask, deny, policy } = self.clone();
        Ok(RunRules { allow, ask, deny, files: read_files(&policy)?, ..RunRules::default() })
    }
}

/// `mainpath policy`
pub async fn policy(args: PolicyArgs) -> Result<Exit, Failure> {
    let home = Home::find()?;
    match args.command {
        PolicyCommand::Check(args) => check(&home, args),
        PolicyCommand::List(args) => list(&home, args),
        PolicyCommand::Trust(args) => trust(&home, args),
        PolicyCommand::Replay(args) => crate::commands::policy_replay::replay(args).await,
        PolicyCommand::Backtest(args) => crate::commands::policy_backtest::backtest(args).await,
        PolicyCommand::Suggest(args) => crate::commands::policy_suggest::suggest(args).await,
        PolicyCommand::Test(args) => crate::commands::policy_test::test(&home, args),
    }
}

/// `mainpath policy check`
fn check(home: &Home, args: PolicyCheckArgs) -> Result<Exit, Failure> {
    let folder = agent::workspace(args.workspace.as_deref())?;
    let (tools, _) = home.toolbox();
    RuleNames::new(home, &tools, &folder, None)
        .check_call(&args.call)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let policy = named(home, &tools, &folder, &args.rules)?;
    let workspace = Workspace::new(&folder, home.protected())?;
    let mut facts = facts(&tools, &args.call, args.arguments.as_deref(), &workspace, policy.folders())?;
    facts.origins = args.origin.into_iter().map(Into::into).collect();
    let wrong = |error| Failure::usage(format!("--from-text {error}"));
    facts.destinations = from_text(&facts.arguments, &args.from_text).map_err(wrong)?;
    facts.confined = mainpath::sandbox::Launcher::current_exe().support().can_confine();
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

/// The rules that hold in a folder; says which rules of files name no tool. Errors: one of the command line names none, among others.
fn named(home: &Home, tools: &Tools, folder: &Path, args: &RuleArgs) -> Result<Policy, Failure> {
    let (names, rules) = (RuleNames::new(home, tools, folder, None), args.read()?);
    names.check(&rules)?;
    let policy = Sources::new(home).load(&folder.display().to_string(), &rules)?;
    names.warnings(&policy).iter().for_each(|line| eprintln!("! {}", one_line(line)));
    Ok(policy)
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
    if let Some(arguments) = arguments.filter(|_| call.starts_with(MCP_TOOLS)) {
        return sample(&format!("{call}({arguments})"), folders).map_err(|error| Failure::usage(error.to_string()));
    }
    if let Some(arguments) = arguments {
        return Ok(plan(call, arguments)?.facts);
    }
    let wrong = |error: Error| Failure::usage(error.problem().trim_start_matches([':', ' ']));
    sample_in(call, tools, workspace, folders).map_err(wrong)
}

fn show(call: &str, found: &Explanation) -> Result<(), Failure> {
    let verdict = &found.verdict;
    out(&format!("{}: {}", verdict.decision.as_str(), one_line(call)))?;
    out(&format!("  by {}: {}", verdict.rule, one_line(&verdict.reason)))?;
    if found.parts.len() > 1 {
        out("parts:")?;
        for part in &found.parts {
            out(&format!("  {}: {}, by {}", part.decision.as_str(), one_line(&part.part), part.rule))?;
        }
    }
    if !found.rules.is_empty() {
        out("matching rules, by layer:")?;
        for rule in &found.rules {
            let maybe = if rule.certain { "" } else { " (maybe: not all of it is known before it runs)" };
            let (layer, decision) = (rule.layer.prefix(), rule.decision.as_str());
            out(&format!("  {layer}: {decision} by {}, for {}{maybe}", rule.rule, one_line(&rule.part)))?;
        }
    }
    Ok(())
}

/// `mainpath policy list`
fn list(home: &Home, args: PolicyListArgs) -> Result<Exit, Failure> {
    let folder = agent::workspace(args.workspace.as_deref())?;
    let policy = named(home, &home.toolbox().0, &folder, &args.rules)?;
    for rule in policy.rules() {
        out(&if args.json { as_json(rule).to_string() } else { one_line(&as_line(rule)) })?;
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
    person_only("trust rules")?;
    let folder = agent::workspace(args.workspace.as_deref())?.display().to_string();
    let sources = Sources::new(home);
    if args.revoke {
        let known = sources.distrust(&folder)?;
        if known.is_empty() {
            out(&format!("{folder} was not trusted"))?;
        }
        known.iter().try_for_each(|folder| out(&format!("{} is no longer trusted", folder.display())))?;
        return Ok(Exit::Ok);
    }
    let policy = sources.load(&folder, &RunRules::default())?;
    for rule in policy.rules().iter().filter(|rule| rule.layer == Layer::Project && rule.decision == Decision::Allow) {
        out(&one_line(&format!("allow {}: {}", rule.id, rule.matches.join(", "))))?;
    }
    for file in sources.trust(&folder)? {
        out(&format!("{} is trusted in its present text; trust it again after a change", file.display()))?;
    }
    Ok(Exit::Ok)
}
