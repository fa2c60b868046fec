//! `mainpath agents`: the presets that agents are made from.

use crate::app::App;
use crate::commands::models::dollars;
use crate::exit::{Exit, Failure};
use crate::ui::out::out;
use crate::ui::person::person_only;
use crate::ui::text::{in_one_line, one_line, quoted, short};
use clap::{Args, Subcommand};
use mainpath::agent;
use mainpath::presets::{Layer, Listed, Preset, PresetLimits, Presets, Standing};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// `mainpath agents`
#[derive(Args, Debug)]
pub struct AgentsArgs {
    /// What to do [default: list]
    #[command(subcommand)]
    pub command: Option<AgentsCommand>,
    /// The folder whose agents are meant [default: the current folder]
    #[arg(short = 'C', long, value_name = "DIR", global = true)]
    pub workspace: Option<PathBuf>,
    /// As JSON lines
    #[arg(long, global = true)]
    pub json: bool,
}

/// What can be done with agents.
#[derive(Subcommand, Debug)]
pub enum AgentsCommand {
    /// List the agents that --agent can name here, and those that it cannot and why
    List,
    /// Show everything about an agent, its instructions included
    Show(AgentName),
    /// Trust agents that come with this repository, exactly as they are now
    Trust(AgentsTrustArgs),
}

/// An agent.
#[derive(Args, Debug)]
pub struct AgentName {
    /// The agent
    pub name: String,
}

/// `mainpath agents trust`
#[derive(Args, Debug)]
pub struct AgentsTrustArgs {
    /// The agents to trust [default: show those that wait for it]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Trust them no longer
    #[arg(long, requires = "names")]
    pub revoke: bool,
}

/// `mainpath agents`
pub fn agents(args: &AgentsArgs) -> Result<Exit, Failure> {
    let app = App::look()?;
    let presets = app.host.presets(&agent::workspace(args.workspace.as_deref())?)?;
    if !args.json {
        presets.passed_over.iter().for_each(|line| eprintln!("! {}", one_line(line)));
    }
    match &args.command {
        None | Some(AgentsCommand::List) => list(&presets, args.json),
        Some(AgentsCommand::Show(named)) => {
            let used = presets.get(&named.name)?;
            // Who reads it before trusting it has to see the one that waits, whatever is used until then.
            let waits = |one: &&Listed| one.preset.name == named.name && one.distrust.is_some();
            for waiting in presets.listed.iter().filter(waits).filter(|_| used.distrust.is_none()) {
                show(waiting, args.json)?;
                if !args.json {
                    out("")?;
                    out("until it is trusted, this one is used:")?;
                    out("")?;
                }
            }
            show(used, args.json)
        }
        Some(AgentsCommand::Trust(named)) => trust(&app, &presets, named),
    }
}

fn list(presets: &Presets, as_json: bool) -> Result<Exit, Failure> {
    for listed in &presets.listed {
        if as_json {
            out(&json_of(listed, false).to_string())?;
            continue;
        }
        let Preset { name, description, .. } = &listed.preset;
        out(&format!(
            "{:<16} {:<9} {}",
            one_line(name),
            listed.layer.name(),
            short(&one_line(&standing(listed, description)), 120)
        ))?;
        for line in remarks(listed) {
            out(&format!("  {}", in_one_line(&line)))?;
        }
    }
    Ok(Exit::Ok)
}

/// What an agent is for, or why it cannot be used.
fn standing(listed: &Listed, description: &str) -> String {
    match (listed.standing(), listed.distrust) {
        (Standing::Untrusted, _) if !listed.faults.is_empty() => {
            "untrusted and faulty: mend it before you trust it".into()
        }
        (Standing::Untrusted, Some(why)) => {
            let name = quoted(&listed.preset.name);
            format!("untrusted: {}; mainpath agents show {name}, then mainpath agents trust {name}", why.words())
        }
        (Standing::Faulty, _) => "faulty: it cannot be used".into(),
        _ => description.into(),
    }
}

/// What is wrong with an agent, what of it has no effect, and what it hides.
fn remarks(listed: &Listed) -> Vec<String> {
    let faults = listed.faults.iter().map(|fault| format!("! {}", listed.told(fault)));
    let notes = listed.notes.iter().map(|note| listed.told(note));
    let shadows = listed.shadows.iter().map(|place| format!("hides {place}"));
    faults.chain(notes).chain(shadows).collect()
}

fn json_of(listed: &Listed, whole: bool) -> Value {
    let mut line = json!(listed.preset);
    if let Value::Object(fields) = &mut line {
        if !whole {
            fields.remove("instructions");
        }
        fields.insert("layer".into(), json!(listed.layer));
        fields.insert("standing".into(), json!(listed.standing()));
        fields.insert("distrust".into(), json!(listed.distrust));
        fields.insert("faults".into(), json!(listed.faults));
        fields.insert("notes".into(), json!(listed.notes));
        fields.insert("shadows".into(), json!(listed.shadows));
    }
    line
}

fn show(listed: &Listed, as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        out(&json_of(listed, true).to_string())?;
        return Ok(Exit::Ok);
    }
    described(listed)?;
    Ok(Exit::Ok)
}

/// All that an agent says, a line each.
fn described(listed: &Listed) -> Result<(), Failure> {
    let Preset { name, description, source, tools, denied_tools, commands, temperature, effort, model, skills, .. } =
        &listed.preset;
    let words = |list: &[String]| if list.is_empty() { "none".into() } else { list.join(", ") };
    let standing = match listed.standing() {
        Standing::Ready => None,
        _ => Some(standing(listed, "")),
    };
    let source = if listed.layer == Layer::Builtin { "built in" } else { source };
    let limits = limits(&listed.preset.limits);
    let lines = [
        ("agent", Some(name.clone())),
        ("about", Some(description.clone()).filter(|text| !text.is_empty())),
        ("from", Some(source.into())),
        ("standing", standing),
        // What a faulty one says of tools may be what cannot be read.
        ("tools", tools.as_ref().map(|tools| words(tools)).or_else(|| listed.faults.is_empty().then(|| "all".into()))),
        ("denied", Some(denied_tools.join(", ")).filter(|text| !text.is_empty())),
        ("commands", Some(commands.join(", ")).filter(|text| !text.is_empty())),
        ("limits", Some(limits).filter(|text| !text.is_empty())),
        ("temp.", temperature.map(|wanted| wanted.to_string())),
        ("effort", effort.and_then(|effort| json!(effort).as_str().map(String::from))),
        ("model", model.clone()),
        ("skills", skills.as_ref().map(|skills| words(skills))),
    ];
    for (what, text) in lines {
        if let Some(text) = text {
            out(&format!("{what:<10}{}", in_one_line(&text)))?;
        }
    }
    for line in remarks(listed) {
        out(&format!("{:<10}{}", "", in_one_line(&line)))?;
    }
    if !listed.preset.instructions.is_empty() {
        out("")?;
        listed.preset.instructions.lines().try_for_each(|line| out(&format!("  │ {}", one_line(line))))?;
    }
    Ok(())
}

fn limits(limits: &PresetLimits) -> String {
    let PresetLimits { turns, calls, tokens, money, time_ms } = limits;
    let told = [
        turns.map(|n| format!("{n} turns")),
        calls.map(|n| format!("{n} calls")),
        tokens.map(|n| format!("{n} tokens")),
        money.map(|micros| format!("${}", dollars(micros))),
        time_ms.map(|ms| humantime::format_duration(Duration::from_millis(ms)).to_string()),
    ];
    told.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn trust(app: &App, presets: &Presets, args: &AgentsTrustArgs) -> Result<Exit, Failure> {
    person_only("trust agents")?;
    let home = app.host.home();
    for name in &args.names {
        if args.revoke {
            let known = presets.distrust(home, name)?;
            out(&format!("{} {}", one_line(name), if known { "is no longer trusted" } else { "was not trusted" }))?;
            continue;
        }
        let trusted = presets.trust(home, name)?;
        for listed in &trusted {
            described(&Listed { distrust: None, ..(*listed).clone() })?;
            out("")?;
        }
        if let Some(first) = trusted.first() {
            let file = one_line(&first.preset.source);
            for faulty in trusted.iter().filter(|listed| !listed.faults.is_empty()) {
                eprintln!("! {} in it is faulty and cannot be used", one_line(&faulty.preset.name));
            }
            out(&format!("{file} is trusted in its present text; trust it again after a change"))?;
        }
    }
    if args.names.is_empty() {
        let waiting: Vec<&Listed> = presets.listed.iter().filter(|listed| listed.distrust.is_some()).collect();
        for listed in &waiting {
            described(listed)?;
            out("")?;
        }
        match waiting.len() {
            0 => out("no agent of this folder waits for trust")?,
            _ if waiting.iter().all(|listed| !listed.faults.is_empty()) => {
                out("what is faulty has to be mended before it can be trusted")?;
            }
            _ => out("to trust one as shown here: mainpath agents trust NAME")?,
        }
    }
    Ok(Exit::Ok)
}
