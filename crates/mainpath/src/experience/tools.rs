//! `get_experience`, `knowledge_search` and `knowledge_save`.

use super::lookup::Lookup;
use super::reflected::reflected_trace;
use super::shown::{fitting, line};
use mainpath_experience::{Draft, Entry, ExperienceError, Experiences, Placed, Query};
use mainpath_tools::{Fut, Problem, Tool, ToolContext, ToolDoc, Tools};
use mainpath_types::{EffectClass, Origin, ToolOutput, format_time};
use schemars::JsonSchema;
use serde::Deserialize;

/// The tool that looks entries up by tags.
pub const GET_EXPERIENCE: &str = "get_experience";
/// The tool that looks entries up by words.
pub const KNOWLEDGE_SEARCH: &str = "knowledge_search";
/// The tool that writes an entry.
pub const KNOWLEDGE_SAVE: &str = "knowledge_save";
/// All tools for what agents learned.
pub const KNOWLEDGE_TOOLS: [&str; 3] = [GET_EXPERIENCE, KNOWLEDGE_SEARCH, KNOWLEDGE_SAVE];

/// How many entries a call gives at most.
const MOST: usize = 5;

/// Adds the tools. Errors: one of another kind has such a name.
pub(crate) fn offer(tools: &Tools, lookup: &Lookup, clock: fn() -> u64) {
    // Clones are one registry.
    let with = tools.clone().with(GetExperience(lookup.clone()));
    let with = with.with(KnowledgeSearch(lookup.clone()));
    drop(with.with(KnowledgeSave { lookup: lookup.clone(), clock }));
}

struct GetExperience(Lookup);

/// Arguments of `get_experience`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetExperienceArgs {
    /// What is to be reached, such as `optimization` or `debug`.
    #[schemars(length(max = 200))]
    intent: Option<String>,
    /// The situation or the problem, such as `docker_build_fail` or `permission_denied`.
    #[schemars(length(max = 200))]
    state: Option<String>,
}

impl Tool for GetExperience {
    type Args = GetExperienceArgs;
    const NAME: &'static str = GET_EXPERIENCE;

    fn describe(&self) -> ToolDoc {
        ToolDoc::new(
            "Finds what was learned in earlier work, by what is to be reached (intent) and the situation (state). Use it when something \
             does not come out as expected, or before unknown ground. If you follow an entry, name its id in brackets, such as \
             [ex_abc123].",
            EffectClass::ReadOnly,
        )
    }

    fn check(&self, args: &GetExperienceArgs) -> Result<(), Problem> {
        let says = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
        match says(&args.intent) || says(&args.state) {
            true => Ok(()),
            false => Err(Problem::new("invalid_arguments", "Give intent, state or both.")),
        }
    }

    fn run<'a>(&'a self, _: &'a ToolContext, args: GetExperienceArgs) -> Fut<'a, ToolOutput> {
        let GetExperienceArgs { intent, state } = args;
        let (intent, state): (Vec<String>, Vec<String>) = (intent.into_iter().collect(), state.into_iter().collect());
        look(&self.0, Query { intent, state, most: MOST, ..Query::default() })
    }
}

struct KnowledgeSearch(Lookup);

/// Arguments of `knowledge_search`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct KnowledgeSearchArgs {
    /// The words to look for.
    #[schemars(length(min = 1, max = 1000))]
    query: String,
}

impl Tool for KnowledgeSearch {
    type Args = KnowledgeSearchArgs;
    const NAME: &'static str = KNOWLEDGE_SEARCH;

    fn describe(&self) -> ToolDoc {
        ToolDoc::new(
            "Searches what was learned in earlier work by words. If you follow an entry, name its id in brackets, such as [ex_abc123].",
            EffectClass::ReadOnly,
        )
    }

    fn run<'a>(&'a self, _: &'a ToolContext, args: KnowledgeSearchArgs) -> Fut<'a, ToolOutput> {
        look(&self.0, Query { text: args.query, most: MOST, ..Query::default() })
    }
}

/// What is found, for the model.
fn look(lookup: &Lookup, query: Query) -> Fut<'_, ToolOutput> {
    Box::pin(async move {
        match lookup.find(query).await {
            Ok(looked) => said(&fitting(looked.found)),
            Err(error) => ToolOutput::failed("experience", format!("The experiences cannot be read: {error}.")),
        }
    })
}

fn said(entries: &[Entry]) -> ToolOutput {
    if entries.is_empty() {
        return ToolOutput::text("No experience fits.");
    }
    let lines: Vec<String> = entries.iter().map(line).collect();
    let foreign = entries.iter().flat_map(|entry| &entry.origin).find(|origin| origin.is_foreign());
    ToolOutput { origin: foreign.copied().unwrap_or_default(), ..ToolOutput::text(lines.join("\n")) }
}

struct KnowledgeSave {
    lookup: Lookup,
    clock: fn() -> u64,
}

/// Arguments of `knowledge_save`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct KnowledgeSaveArgs {
    /// What it is about, such as `tool_usage`, `logic_flow` or `environment`.
    #[schemars(length(min = 1, max = 100))]
    category: String,
    /// What was learned: when it holds, what to do, why. A few sentences that make sense without this conversation.
    #[schemars(length(min = 1, max = 8000))]
    content: String,
    /// Situations in which it holds, as short tags such as `dirty_repo`.
    #[serde(default)]
    #[schemars(length(max = 32))]
    state: Vec<String>,
    /// Purposes that it serves, as short tags such as `safe_modify`.
    #[serde(default)]
    #[schemars(length(max = 32))]
    intent: Vec<String>,
}

impl Tool for KnowledgeSave {
    type Args = KnowledgeSaveArgs;
    const NAME: &'static str = KNOWLEDGE_SAVE;

    fn describe(&self) -> ToolDoc {
        let description = "Keeps something that was learned for later work: a rule that will hold again, not an account of what was done. \
            What rests on web pages, MCP servers or messages of others is kept until a person has reviewed it.";
        // The same words are kept once.
        ToolDoc { local: true, ..ToolDoc::new(description, EffectClass::Idempotent) }
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: KnowledgeSaveArgs) -> Fut<'a, ToolOutput> {
        let KnowledgeSaveArgs { category, content, state, intent } = args;
        // Secrets were put in for the call; they go no further.
        let hidden = |text: String| ctx.secrets.redact(&text);
        let foreign = ctx.foreign.iter().copied();
        let draft = Draft {
            category: hidden(category),
            state: state.into_iter().map(hidden).collect(),
            intent: intent.into_iter().map(hidden).collect(),
            trace_id: ctx.trace.as_ref().map(|trace| reflected_trace(trace).to_string()),
            created_at: Some(format_time((self.clock)())),
            origin: foreign.chain([Origin::Model]).collect(),
            text: hidden(content),
        };
        Box::pin(async move {
            match self.lookup.blocking(move |known| keep(known, draft)).await {
                Ok(Placed { entry, .. }) if entry.is_accepted() => ToolOutput::text(format!("Kept as [{}].", entry.id)),
                Ok(Placed { entry, .. }) => ToolOutput::text(format!(
                    "Kept as [{}]. It rests on words from outside and waits for a person's review.",
                    entry.id
                )),
                Err(ExperienceError::Invalid(why)) => {
                    ToolOutput::failed("invalid_arguments", format!("Nothing was kept: {why}."))
                }
                Err(error) => ToolOutput::failed("experience", format!("Nothing was kept: {error}.")),
            }
        })
    }
}

/// Adds an entry, unless one says the same already.
fn keep(known: &Experiences, draft: Draft) -> Result<Placed, ExperienceError> {
    let query = Query { text: draft.text.clone(), with_waiting: true, most: 50, ..Query::default() };
    let same = known.find(&query)?.into_iter().find(|found| found.placed.entry.text == draft.text.trim());
    match same {
        Some(same) => Ok(same.placed),
        None => known.add(draft),
    }
}
