//! From a packed request to the bytes of its body.

use crate::media;
use crate::prefix::{Prefix, hex};
use crate::runtime::Config;
use crate::schema::OutputSchema;
use crate::terms::CallTerms;
use crate::texts::{Gone, Whole};
use bytes::Bytes;
use mainpath_core::{Bodies, Item, Packed, State, Under, is_as_signed, message, render_turn};
use mainpath_policy::Rules;
use mainpath_providers::{Codec, Frame, Provider, groups, wire_model};
use mainpath_store::{Scope, Store, StoreError};
use mainpath_tools::Workspace;
use mainpath_types::*;
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What follows from a spec alone. Traces with the same spec share it.
pub(crate) struct Prepared {
    /// The model, or why it cannot be asked: one line for people. Calls run without it.
    pub model: Result<Asked, String>,
    /// What a final answer must match.
    pub schema: Option<OutputSchema>,
    pub rules: Rules,
    /// What else holds for all calls.
    pub calls: CallTerms,
    pub workspace: Arc<Workspace>,
    pub secrets: Vec<String>,
    /// The hooks that have a word in reminders.
    pub context_hooks: Vec<String>,
    /// Whether all files are kept before a call that may change any of them.
    pub snapshots: bool,
}

impl Prepared {
    /// Whether calls of a tool may be allowed: the caller allows it, and no rule denies all of them.
    pub fn offers(&self, tool: &str, effect: EffectClass) -> bool {
        self.calls.allow(tool) && !self.rules.policy.denies_all_of(tool, effect)
    }
}

/// How a model is asked.
pub(crate) struct Asked {
    pub head: RequestHead,
    pub frames: Frames,
    pub provider: Arc<dyn Provider>,
    /// How a turn looks, where it is text.
    pub text: Option<TextForm>,
}

impl Asked {
    fn new(config: &Config, spec: &Spec) -> Result<Asked, String> {
        let provider = config.models.find(&spec.model)?;
        let text = text_form(spec, &*provider);
        let head = request_head(spec, text);
        Ok(Asked { frames: Frames::new(provider.codec(), &head), head, provider, text })
    }
}

/// The request body around the conversation.
pub(crate) struct Frames {
    usual: (Bytes, Bytes),
    /// Where a summary is asked for, no vendor is to hold it to the final answer's schema.
    summary: (Bytes, Bytes),
}

impl Frames {
    pub fn new(codec: &dyn Codec, head: &RequestHead) -> Frames {
        let frame = |head: &RequestHead| {
            let Frame { before, after } = codec.encode_frame(head);
            (Bytes::from(before), Bytes::from(after))
        };
        Frames { usual: frame(head), summary: frame(&RequestHead { output_schema: None, ..head.clone() }) }
    }

    /// Before the conversation, and after it.
    pub fn of(&self, under: Under) -> &(Bytes, Bytes) {
        if under.summary { &self.summary } else { &self.usual }
    }
}

/// The specs that are in use.
#[derive(Default)]
pub(crate) struct Specs(Mutex<HashMap<String, Weak<Prepared>>>);

impl Specs {
    /// What follows from a spec. Errors: one line for people, where not even a call could run.
    pub fn prepare(&self, config: &Config, spec: &Spec) -> Result<Arc<Prepared>, String> {
        let text = serde_json::to_vec(spec).map_err(|error| format!("the spec cannot be written as JSON: {error}"))?;
        let key = hex(&Sha256::digest(&text));
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(prepared) = known.get(&key).and_then(Weak::upgrade) {
            return Ok(prepared);
        }
        known.retain(|_, prepared| prepared.strong_count() > 0);
        let workspace = Workspace::new(&spec.workspace, config.protected.clone())
            .map_err(|error| format!("the workspace {} cannot be used: {error}", spec.workspace))?;
        let schema = spec.output_schema.as_ref().map(OutputSchema::new).transpose()?;
        let prepared = Arc::new(Prepared {
            model: Asked::new(config, spec),
            schema,
            rules: Rules {
                mode: spec.mode,
                access: spec.access,
                allowed_tools: spec.tools.iter().map(|tool| tool.name.clone()).collect(),
                policy: (config.policies)(spec)?,
            },
            calls: CallTerms::of(spec),
            workspace: Arc::new(workspace),
            secrets: spec.secrets.clone(),
            context_hooks: spec.context_hooks.clone(),
            snapshots: spec.snapshots,
        });
        // A key may be there the next time.
        if prepared.model.is_ok() {
            known.insert(key, Arc::downgrade(&prepared));
        }
        Ok(prepared)
    }
}

/// How a turn looks under a spec, where it is text. What is played back comes as turns already.
pub(crate) fn text_form(spec: &Spec, provider: &dyn Provider) -> Option<TextForm> {
    let in_text = spec.protocol == Protocol::Json && provider.codec().format() != "neutral";
    in_text.then_some(spec.text)
}

/// Everything of a request that follows from the spec alone. Under a text protocol the system text describes the tools.
pub(crate) fn request_head(spec: &Spec, text: Option<TextForm>) -> RequestHead {
    RequestHead {
        model: wire_model(&spec.model).into(),
        system: spec.instructions.clone(),
        tools: if text.is_some() { Vec::new() } else { spec.tools.clone() },
        temperature: spec.temperature,
        max_output: Some(spec.reserved_output.into()),
        effort: spec.effort,
        // A turn in text is an object of its own; its answer is checked when it has come.
        output_schema: spec.output_schema.clone().filter(|_| text.is_none()),
        stream: true,
    }
}

/// Drops what a vendor signed where the context that it signed it in is no longer what comes before it.
fn unsign(state: &State, under: Under, message: &mut Message) {
    if message.role == Role::Assistant && !message.seq.is_some_and(|seq| is_as_signed(state, under, seq)) {
        message.parts.retain(|part| !matches!(part, Part::Thinking { signature: Some(_), .. }));
    }
}

/// Adds to the prefix what the packed request shows beyond it; gives the blobs that are gone, in whose place the model is shown a
/// line. `None` when a body is not at hand.
pub(crate) async fn extend(
    prefix: &mut Prefix,
    (provider, before, text): (&dyn Provider, &[u8], Option<TextForm>),
    (state, bodies): (&State, &(dyn Bodies + Send + Sync)),
    packed: &Packed,
    (store, scope): (&dyn Store, &Scope),
) -> Result<Option<BTreeSet<BlobHash>>, StoreError> {
    let kept = prefix.keep(packed.under, &packed.items, before);
    let new: &[Item] = packed.items.get(kept..).unwrap_or(&[]);
    // Before they become messages: a summary is put into a sentence, a result is shortened.
    let mut whole = Whole::with_lines(bodies);
    for event in new.iter().filter_map(Item::event) {
        whole.load(store, scope, event).await?;
    }
    let Some(mut messages) = new.iter().map(|item| message(state, &whole, item)).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    if provider.codec().binds_thinking() {
        messages.iter_mut().for_each(|message| unsign(state, packed.under, message));
    }
    if let Some(form) = text {
        let shown = messages.into_iter().zip(new).map(|(message, item)| match item {
            // As it was said: the model is told what was wrong with it.
            Item::Malformed { .. } => message,
            _ => render_turn(message, form.dialect),
        });
        messages = shown.collect();
    }
    let mut gone = Gone::noted();
    for message in &mut messages {
        media::load(store, scope, &mut message.parts, &mut gone).await?;
    }
    debug_assert!(groups(&messages).map(<[Message]>::len).sum::<usize>() == new.len());
    prefix.extend(provider.codec(), new, &messages);
    Ok(Some(whole.into_gone().take().into_iter().chain(gone.take()).collect()))
}
