//! `experience` and `reflect`: what agents learned, and having one look back on its work.

use crate::app::App;
use crate::args::output::OutputArgs;
use crate::exit::{Exit, Failure};
use crate::runs::driven::announce;
use crate::runs::follow::{Follow, is_attended};
use crate::runs::reflect::{ids, known, told};
use crate::ui::out::out;
use crate::ui::person::person_only;
use crate::ui::text::{count, in_one_line, one_line, short};
use crate::ui::whole::visible;
use clap::{Args, Subcommand};
use mainpath::Home;
use mainpath::experience::{Broken, Change, Entry, Experiences, Placed, Status};
use mainpath::types::Origin;
use serde_json::{Value, json};
use std::io::BufRead;
use std::process::Command;

/// `mainpath experience`
#[derive(Subcommand, Debug)]
pub enum ExperienceCommand {
    /// List what agents learned, and what in the folder cannot be read
    List(ListArgs),
    /// Show an experience
    Show(ShowExperienceArgs),
    /// Open the file of an experience in $VISUAL or $EDITOR
    Edit(OneArgs),
    /// Remove experiences
    Rm(SeveralArgs),
    /// Count that an experience helped (+1) or did harm (-1)
    Score(ScoreArgs),
    /// Read the experiences that rest on words from outside, and accept or remove each
    Review(ReviewArgs),
}

/// `mainpath experience list`
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Only those that wait for a review
    #[arg(long)]
    pub waiting: bool,
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `mainpath experience show`
#[derive(Args, Debug)]
pub struct ShowExperienceArgs {
    /// Its id
    pub id: String,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `mainpath experience edit`
#[derive(Args, Debug)]
pub struct OneArgs {
    /// Its id
    pub id: String,
}

/// `mainpath experience rm`
#[derive(Args, Debug)]
pub struct SeveralArgs {
    /// Their ids
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
}

/// `mainpath experience score`
#[derive(Args, Debug)]
pub struct ScoreArgs {
    /// Its id
    pub id: String,
    /// +1 or -1
    #[arg(allow_negative_numbers = true, value_parser = ["+1", "1", "-1"])]
    pub by: String,
}

/// `mainpath experience review`
#[derive(Args, Debug)]
pub struct ReviewArgs {
    /// Only these [default: all that wait]
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Accept them without asking
    #[arg(long, requires = "ids", conflicts_with = "reject")]
    pub accept: bool,
    /// Remove them without asking
    #[arg(long, requires = "ids")]
    pub reject: bool,
}

/// `mainpath reflect`
#[derive(Args, Debug)]
pub struct ReflectArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    /// What to look at above all
    #[arg(long, value_name = "TEXT")]
    pub focus: Option<String>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `mainpath experience`
pub fn experience(command: ExperienceCommand) -> Result<Exit, Failure> {
    let known = Home::find()?.experiences();
    match command {
        ExperienceCommand::List(args) => list(&known, &args),
        ExperienceCommand::Show(args) => show(&known, &args),
        ExperienceCommand::Edit(args) => edit(&known, &args.id),
        ExperienceCommand::Rm(args) => remove(&known, &args.ids),
        ExperienceCommand::Score(args) => score(&known, &args),
        ExperienceCommand::Review(args) => review(&known, &args),
    }
}

/// `mainpath reflect`
pub async fn reflect(args: ReflectArgs) -> Result<Exit, Failure> {
    let app = App::open()?;
    let of = app.logs.find(args.trace.as_deref()).await?;
    let before = ids(known(&app)?)?;
    app.host.check_usable()?;
    let new = app.host.reflection(&of, args.focus.as_deref()).await?;
    let (log, ..) = app.logs.read(&new).await?;
    if !args.output.json {
        eprintln!("· reflecting on {of}");
    }
    announce(&new, &args.output);
    let reflection = app.host.trace(&new).await?;
    reflection.drive().await?;
    let exit = Follow::new(&app, reflection, &args.output, log.head + 1).stay().await?;
    if !args.output.json {
        told(&app, &new, &before).await?;
    }
    Ok(exit)
}

fn all(known: &Experiences) -> Result<(Vec<Placed>, Vec<Broken>), Failure> {
    let contents = known.all().map_err(mainpath::Error::from)?;
    Ok((contents.entries, contents.broken))
}

fn one(known: &Experiences, id: &str) -> Result<Placed, Failure> {
    Ok(known.get(id).map_err(mainpath::Error::from)?)
}

fn list(known: &Experiences, args: &ListArgs) -> Result<Exit, Failure> {
    let (entries, broken) = all(known)?;
    let wanted: Vec<&Placed> = entries.iter().filter(|placed| !args.waiting || !placed.entry.is_accepted()).collect();
    if args.json {
        wanted.iter().try_for_each(|placed| out(&json_of(placed).to_string()))?;
        broken.iter().try_for_each(|broken| {
            out(&json!({"file": broken.file, "line": broken.line, "problem": broken.why}).to_string())
        })?;
        return Ok(Exit::Ok);
    }
    for placed in &wanted {
        let Entry { id, helpful, harmful, category, text, status, .. } = &placed.entry;
        let mark = if *status == Status::Waiting { "waiting " } else { "" };
        let (id, category) = (in_one_line(id), in_one_line(category));
        out(&format!("{id:<10} +{helpful} -{harmful}  {category:<12} {mark}{}", short(text, 80)))?;
    }
    if entries.is_empty() && broken.is_empty() {
        eprintln!(
            "no experiences in {}; mainpath reflect has an agent write some",
            one_line(&known.folder().display().to_string())
        );
    }
    broken.iter().for_each(|broken| eprintln!("! {}", in_one_line(&broken.to_string())));
    let waiting = entries.iter().filter(|placed| !placed.entry.is_accepted()).count() as u64;
    if waiting > 0 {
        eprintln!("{} for your review: mainpath experience review", count(waiting, "experience"));
    }
    Ok(Exit::Ok)
}

fn json_of(placed: &Placed) -> Value {
    let Placed { entry, file, line } = placed;
    let mut value = serde_json::to_value(entry).unwrap_or_default();
    value["file"] = json!(file);
    value["line"] = json!(line);
    value
}

fn show(known: &Experiences, args: &ShowExperienceArgs) -> Result<Exit, Failure> {
    let placed = one(known, &args.id)?;
    match args.json {
        true => out(&json_of(&placed).to_string())?,
        false => out(&described(&placed))?,
    }
    Ok(Exit::Ok)
}

/// An entry for people: what is known of it, then what it says.
fn described(placed: &Placed) -> String {
    let Placed { entry, file, line } = placed;
    let origin: Vec<&str> = entry.origin.iter().map(|origin| origin_in_words(*origin)).collect();
    let status = match entry.status {
        Status::Waiting => "waits for your review; agents do not see it",
        Status::Accepted => "accepted",
    };
    let mut lines = vec![
        in_one_line(&format!(
            "{} · {} · helped {}, did harm {}",
            entry.id, entry.category, entry.helpful, entry.harmful
        )),
        format!("status: {status}"),
    ];
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            // Whatever the file holds, it is one line.
            lines.push(in_one_line(&format!("{name}: {value}")));
        }
    };
    add("intent", entry.intent.join(", "));
    add("state", entry.state.join(", "));
    add("rests on", origin.join(", "));
    add("trace", entry.trace_id.clone().unwrap_or_default());
    add("written", entry.created_at.clone().unwrap_or_default());
    add("file", format!("{}:{line}", file.display()));
    format!("{}\n\n{}", lines.join("\n"), visible(&entry.text.replace("\r\n", "\n")))
}

fn origin_in_words(origin: Origin) -> &'static str {
    match origin {
        Origin::User => "what people said",
        Origin::Workspace => "files",
        Origin::Web => "web pages or HTTP answers",
        Origin::Mcp => "MCP servers",
        Origin::Message => "messages of others",
        Origin::Model => "the agent's own words",
    }
}

fn edit(known: &Experiences, id: &str) -> Result<Exit, Failure> {
    person_only("edit experiences")?;
    let Placed { file, line, .. } = one(known, id)?;
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).ok_or_else(|| {
        Failure::usage(format!("neither VISUAL nor EDITOR is set; the experience is in {}:{line}", file.display()))
    })?;
    // As other programs do: the variable may have arguments.
    let done = Command::new("sh").args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(&file).status()?;
    if !done.success() {
        return Err(Failure::error(format!("the editor ended with {done}")));
    }
    let (_, broken) = all(known)?;
    broken
        .iter()
        .filter(|broken| broken.file == file)
        .for_each(|broken| eprintln!("! {}", in_one_line(&broken.to_string())));
    Ok(Exit::Ok)
}

fn remove(known: &Experiences, ids: &[String]) -> Result<Exit, Failure> {
    person_only("remove experiences")?;
    for id in ids {
        known.remove(id).map_err(mainpath::Error::from)?;
        eprintln!("removed {id}");
    }
    Ok(Exit::Ok)
}

fn score(known: &Experiences, args: &ScoreArgs) -> Result<Exit, Failure> {
    person_only("score experiences")?;
    let change = if args.by == "-1" { Change::Harmed } else { Change::Helped };
    let Entry { id, helpful, harmful, .. } = known.change(&args.id, change).map_err(mainpath::Error::from)?;
    out(&format!("{id} helped {helpful}, did harm {harmful}"))?;
    Ok(Exit::Ok)
}

fn review(known: &Experiences, args: &ReviewArgs) -> Result<Exit, Failure> {
    person_only("review experiences")?;
    let waiting: Vec<Placed> = match args.ids.as_slice() {
        [] => all(known)?.0.into_iter().filter(|placed| !placed.entry.is_accepted()).collect(),
        ids => ids.iter().map(|id| one(known, id)).collect::<Result<_, _>>()?,
    };
    if waiting.is_empty() {
        eprintln!("no experience waits for a review");
        return Ok(Exit::Ok);
    }
    if !args.accept && !args.reject && !is_attended() {
        let ids: Vec<&str> = waiting.iter().map(|placed| placed.entry.id.as_str()).collect();
        let ids = ids.join(" ");
        return Err(Failure::usage(format!(
            "non-interactive; read them with mainpath experience show, then: mainpath experience review --accept {ids} (or --reject)"
        )));
    }
    for placed in waiting {
        let id = &placed.entry.id;
        let accepts = if args.accept || args.reject {
            Some(args.accept)
        } else {
            eprintln!("{}\n", described(&placed));
            asked()?
        };
        match accepts {
            None => break,
            Some(true) => {
                known.change(id, Change::Status(Status::Accepted)).map_err(mainpath::Error::from)?;
                eprintln!("accepted {id}");
            }
            Some(false) => {
                known.remove(id).map_err(mainpath::Error::from)?;
                eprintln!("removed {id}");
            }
        }
    }
    Ok(Exit::Ok)
}

/// What the person decides; `None` to leave.
fn asked() -> Result<Option<bool>, Failure> {
    loop {
        eprint!("let agents see it? [y]es, [r]emove it, [q]uit: ");
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(Some(true)),
            "r" | "remove" => return Ok(Some(false)),
            "q" | "quit" => return Ok(None),
            _ => {}
        }
    }
}
