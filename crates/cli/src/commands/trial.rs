//! The first model: a person names it, it is tried, and it can be kept.

use crate::app::App;
use crate::exit::Failure;
use crate::ui::text::{one_line, short};
use mainpath::agent::check_model;
use mainpath::home::edit::rewrite;
use mainpath::providers::{Call, encode, wire_model};
use mainpath::runtime::Models;
use mainpath::types::{Message, ModelRequest, Part, RequestHead, Role, text_of};
use std::time::Duration;

/// A server that has not answered by then is not waited for.
const LONGEST: Duration = Duration::from_secs(60);

/// Asks for a model until one answers. Errors: the person gives up.
pub async fn first_model(app: &App) -> Result<String, Failure> {
    eprintln!("No model is set up yet. Choose one, for example:");
    eprintln!("  openai-compatible:http://127.0.0.1:11434/v1#qwen3    a server on this machine");
    eprintln!(
        "  openai:NAME, anthropic:NAME, …                        with the key in OPENAI_API_KEY, ANTHROPIC_API_KEY, …"
    );
    eprintln!(
        "`mainpath models` lists them. Type demo to see a demonstration first, without a model. Press Enter to leave."
    );
    loop {
        let model = line("model: ")?;
        if model.is_empty() {
            return Err(Failure::usage("no model chosen; mainpath models lists them"));
        }
        if model == "demo" {
            // In a process of its own, which has the terminal to itself.
            std::process::Command::new(std::env::current_exe()?).arg("demo").status()?;
            continue;
        }
        if let Err(failure) = check_model(&model, app.host.registry()) {
            eprintln!("✗ {}", one_line(failure.message()));
            continue;
        }
        eprintln!("· trying {}", one_line(&model));
        match answers(app, &model).await {
            Ok(said) => eprintln!("✓ it answers: {}", short(&said, 60)),
            Err(failure) => {
                eprintln!("✗ {}", one_line(&failure.message).replace('\n', " "));
                continue;
            }
        }
        if matches!(line("make it the default for every folder? [y]es, [n]o: ")?.as_str(), "y" | "yes") {
            keep(app, &model)?;
        }
        return Ok(model);
    }
}

/// A line of what is typed; none is an empty one.
fn line(prompt: &str) -> Result<String, Failure> {
    eprint!("{prompt}");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(line.trim().to_string())
}

/// What the model says to a greeting. Errors: why it says nothing.
async fn answers(app: &App, model: &str) -> Result<String, Failure> {
    let provider = app.host.models().find(model).map_err(|error| Failure::error(error.to_string()))?;
    let head = RequestHead {
        model: wire_model(model).into(),
        max_output: Some(app.host.registry().facts(model).output_limit.min(1_024).into()),
        stream: true,
        ..RequestHead::default()
    };
    let messages = vec![Message { seq: None, role: Role::User, parts: vec![Part::text("Say hello in one word.")] }];
    let request = ModelRequest { head, messages };
    let body = vec![encode(provider.codec(), &request).into()];
    let call = Call { body, head: &request.head, request: 1 };
    let mut unheard = |_| {};
    let reply = tokio::time::timeout(LONGEST, provider.call(call, &mut unheard));
    let reply = reply.await.map_err(|_| Failure::error("no answer within a minute"))?;
    reply.map(|reply| text_of(&reply.parts)).map_err(|error| Failure::error(error.message))
}

/// Makes it the model of all that names none: a line at the beginning of the configuration, which had none.
fn keep(app: &App, model: &str) -> Result<(), Failure> {
    let file = &app.host.home().config_file;
    let entry = toml::Table::from_iter([("model".into(), model.into())]);
    rewrite(file, |old| Ok(format!("{entry}{old}")))?;
    eprintln!("· saved model = {model:?} in {}", file.display());
    Ok(())
}
