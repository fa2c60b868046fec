//! The words of the text protocol: system, developer and few-shot templates, which a user can replace. What they make
//! becomes the spec's system text, and so is recorded by event.

use mainpath_types::{Dialect, Spec};
use minijinja::{Environment, UndefinedBehavior, Value, context};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The templates of a dialect, in the order in which they are put together.
const NAMES: [&str; 3] = ["system", "developer", "few_shot"];

/// The templates that come with Mainpath.
const BUNDLED: [(&str, &str); 6] = [
    ("agent_core/system.j2", include_str!("../../prompts/agent_core/system.j2")),
    ("agent_core/developer.j2", include_str!("../../prompts/agent_core/developer.j2")),
    ("agent_core/few_shot.j2", include_str!("../../prompts/agent_core/few_shot.j2")),
    ("skills/system.j2", include_str!("../../prompts/skills/system.j2")),
    ("skills/developer.j2", include_str!("../../prompts/skills/developer.j2")),
    ("skills/few_shot.j2", include_str!("../../prompts/skills/few_shot.j2")),
];

/// Where templates are rendered. The bundled ones are read once.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    for (name, source) in BUNDLED {
        // One that cannot be read is told when it is asked for.
        let _ = environment.add_template(name, source);
    }
    environment
});

/// Why there is no system text. One line for people.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// A template of the user's cannot be read.
    #[error("cannot read the template {}: {problem}", file.display())]
    Read {
        /// Which file.
        file: PathBuf,
        /// Why.
        problem: std::io::Error,
    },
    /// A template is wrong.
    #[error(
        "the template {name}, line {line}: {problem}; the names that a template may use are listed in docs/models.md"
    )]
    Render {
        /// The user's file, or the bundled template's name.
        name: String,
        /// Where in it.
        line: usize,
        /// What is wrong.
        problem: String,
    },
}

/// The system text under the text protocol, for an agent with this spec whose own instructions are `instructions`. Files
/// named `agent_core/system.j2`, `skills/few_shot.j2` and so on below `own` replace the bundled templates, one by one; an
/// empty file leaves a part out.
///
/// # Errors
/// [`PromptError`].
pub fn text_protocol_prompt(spec: &Spec, instructions: &str, own: Option<&Path>) -> Result<String, PromptError> {
    let dialect = match spec.text.dialect {
        Dialect::AgentCore => "agent_core",
        Dialect::Skills => "skills",
    };
    let seconds = |ms: Option<u64>| ms.map(|ms| ms.div_ceil(1_000));
    let tool = |tool: &mainpath_types::ToolSpec| {
        context! { name => tool.name, description => tool.description, schema => tool.input_schema.to_string() }
    };
    let values = context! {
        instructions,
        tools => spec.tools.iter().map(tool).collect::<Vec<Value>>(),
        limits => context! {
            turns => spec.limits.turns,
            calls => spec.limits.calls,
            calls_per_turn => spec.limits.calls_per_turn,
            tokens => spec.limits.tokens.filter(|tokens| *tokens > 0),
            run_timeout_s => seconds(spec.limits.run_timeout_ms),
            call_timeout_s => seconds(spec.limits.call_timeout_ms),
            observation_chars => spec.limits.observation_chars,
        },
        output_schema => spec.output_schema.as_ref().map(ToString::to_string),
        answer_field => match spec.text.dialect { Dialect::AgentCore => "answer", Dialect::Skills => "final_answer.content" },
        workspace => spec.workspace,
        model => spec.model,
    };
    let mut parts = Vec::new();
    for name in NAMES {
        let mut name = format!("{dialect}/{name}.j2");
        let rendered = match own.map(|own| own.join(&name)).map(read_own).transpose()?.flatten() {
            Some(Own { file, source }) => {
                name = file;
                ENVIRONMENT.render_named_str(&name, &source, &values)
            }
            None => ENVIRONMENT.get_template(&name).and_then(|template| template.render(&values)),
        };
        let text = rendered.map_err(|error| PromptError::Render {
            name,
            line: error.line().unwrap_or(0),
            problem: error.detail().map_or_else(|| error.kind().to_string(), String::from),
        })?;
        parts.push(text.trim().to_string());
    }
    parts.retain(|part| !part.is_empty());
    Ok(parts.join("\n\n"))
}

/// A template of the user's.
struct Own {
    file: String,
    source: String,
}

/// The template in a file, if there is one. Errors: it cannot be read.
fn read_own(file: PathBuf) -> Result<Option<Own>, PromptError> {
    match std::fs::read_to_string(&file) {
        Ok(source) => Ok(Some(Own { file: file.display().to_string(), source })),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(problem) => Err(PromptError::Read { file, problem }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath_types::{Profile, ToolSpec};
    use serde_json::json;

    fn spec(profile: Profile) -> Spec {
        let tool = ToolSpec {
            name: "look".into(),
            description: "Looks <at> things.".into(),
            input_schema: json!({"type": "object"}).into(),
            ..ToolSpec::default()
        };
        Spec { tools: vec![tool], ..Spec::new("m", profile) }
    }

    #[test]
    fn the_bundled_words_name_the_tools_the_limits_and_the_schema() {
        for profile in [Profile::AgentCore, Profile::Skills] {
            let mut spec = Spec { output_schema: Some(json!({"type": "array"})), ..spec(profile) };
            assert!(
                !text_protocol_prompt(&spec, "", None).unwrap().contains(" tokens."),
                "none is told where none is set"
            );
            spec.limits.tokens = Some(50_000);
            let text = text_protocol_prompt(&spec, "Be brief.", None).unwrap();
            for part in [
                "Be brief.\n\n# How you answer",
                "## look\nLooks <at> things.\nArguments, as a JSON Schema: {\"type\":\"object\"}",
                &format!(
                    "You have {} answers at most. You may call tools {} times",
                    spec.limits.turns.unwrap(),
                    spec.limits.calls.unwrap()
                ),
                "All requests and answers of the run together may have 50000 tokens.",
                "JSON Schema; put it as it is into",
                "{\"type\":\"array\"}",
                "# Examples",
            ] {
                assert!(text.contains(part), "{part:?} is not in:\n{text}");
            }
        }
    }

    #[test]
    fn every_example_of_the_bundled_words_is_a_turn() {
        for profile in [Profile::AgentCore, Profile::Skills] {
            let spec = spec(profile);
            let text = text_protocol_prompt(&spec, "", None).unwrap();
            let examples: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("You: ")).collect();
            assert!(examples.len() >= 4, "{text}");
            for example in examples {
                mainpath_core::parse_turn(example, spec.text).unwrap();
            }
        }
    }

    #[test]
    fn a_users_template_takes_a_bundled_ones_place_and_an_empty_one_leaves_it_out() {
        let own = tempfile::tempdir().unwrap();
        std::fs::create_dir(own.path().join("agent_core")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(own.path().join("agent_core").join(name), text).unwrap();
        write("system.j2", "{{ instructions }} Tools: {% for tool in tools %}{{ tool.name }}{% endfor %}.");
        write("developer.j2", "In {{ workspace }}.");
        write("few_shot.j2", "");
        let spec = Spec { workspace: "/w".into(), ..spec(Profile::AgentCore) };
        assert_eq!(text_protocol_prompt(&spec, "Hi.", Some(own.path())).unwrap(), "Hi. Tools: look.\n\nIn /w.");
        write("developer.j2", "one\n{{ nonesuch }}");
        let error = text_protocol_prompt(&spec, "", Some(own.path())).unwrap_err().to_string();
        let file = own.path().join("agent_core/developer.j2");
        let start = format!("the template {}, line 2: ", file.display());
        assert!(error.starts_with(&start), "{error}");
    }
}
