//! `mainpath policy suggest`: rules that would have answered what people were asked.

use crate::app::App;
use crate::args::past::PastArgs;
use crate::exit::{Exit, Failure};
use crate::ui::out::out;
use crate::ui::text::{count, gist, number, one_line, plain, short};
use clap::Args;
use mainpath::backtest::{CoveredCall, RuleSuggestion, Suggestions};
use serde_json::json;

/// `mainpath policy suggest`
#[derive(Args, Debug)]
pub struct PolicySuggestArgs {
    #[command(flatten)]
    pub past: PastArgs,
    /// Only rules that would have answered at least so many questions
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub least: usize,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `mainpath policy suggest`
pub async fn suggest(args: PolicySuggestArgs) -> Result<Exit, Failure> {
    let app = App::look()?;
    let scope = args.past.scope(&app.logs).await?;
    let (logs, least) = (app.logs.clone(), args.least);
    let judging = tokio::task::spawn_blocking(move || app.host.past_judge().suggest(&logs, &scope, least));
    let found = judging.await.map_err(|error| Failure::error(error.to_string()))??;
    match args.json {
        true => out(&json!(found).to_string())?,
        false => tell(&found, least)?,
    }
    Ok(Exit::Ok)
}

fn tell(found: &Suggestions, least: usize) -> Result<(), Failure> {
    let Suggestions { traces, answers, already, rules, contradicted, without_rule, unread } = found;
    let mut files: Vec<Option<String>> = Vec::new();
    for rule in rules {
        if !files.contains(&rule.file()) {
            files.push(rule.file());
        }
    }
    for file in files {
        let name = file.clone().unwrap_or_else(|| "policy.toml beside the configuration".into());
        out(&one_line(&format!("# for {name}")))?;
        for rule in rules.iter().filter(|rule| rule.file() == file) {
            out(&rule.toml().lines().map(plain).collect::<Vec<_>>().join("\n"))?;
            rule.also_calls.iter().try_for_each(|call| out(&format!("#   also {}", covered(call))))?;
            out("")?;
        }
    }
    for RuleSuggestion { decision, r#match, answers, against, .. } in contradicted {
        let Some(call) = against else { continue };
        let (decision, pattern) = (decision.as_str(), one_line(&r#match.join(", ")));
        let answers = count(*answers as u64, "answer");
        eprintln!("not suggested: {decision} {pattern} ({answers}): a person decided otherwise on {}", covered(call));
    }
    for one in unread {
        eprintln!("! {}: {}", one.trace, one_line(&one.problem));
    }
    let (traces, rules) = (count(*traces as u64, "trace"), count(rules.len() as u64, "rule"));
    let answers = count(*answers as u64, "answer");
    eprintln!(
        "{answers} of people in {traces}; {rules} for what was answered alike at least {} times",
        number(least as u64)
    );
    if *already > 0 {
        eprintln!("{} that today's rules give by themselves", count(*already as u64, "answer"));
    }
    if *without_rule > 0 {
        eprintln!("{} without a narrow rule that would have given it", count(*without_rule as u64, "answer"));
    }
    Ok(())
}

fn covered(CoveredCall { trace, call, tool, arguments }: &CoveredCall) -> String {
    one_line(&format!("{trace} {call} {tool}: {}", short(&gist(arguments), 80)))
}
