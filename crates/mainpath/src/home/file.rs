//! `config.toml`: what it may say.

#[cfg(feature = "home")]
use super::error::{KeyError, ValueError, ValueProblem};
#[cfg(feature = "home")]
use super::hooks::{ContextHookEntry, HookEntry};
use super::limits::LimitsConfig;
#[cfg(feature = "home")]
use super::peers::PeerConfig;
use super::server::ServerConfig;
use super::sessions::SessionsConfig;
#[cfg(feature = "home")]
use super::signing::SignConfig;
#[cfg(feature = "home")]
use super::toolbox::ToolsConfig;
use super::units::{Rate, Temperature, Time};
#[cfg(feature = "home")]
use mainpath_mcp::McpConfig;
#[cfg(feature = "home")]
use mainpath_net::{Reach, SecretTexts, WebAddress};
#[cfg(feature = "people")]
use mainpath_people::PeopleConfig;
#[cfg(feature = "home")]
use mainpath_policy::ToolNameError;
use mainpath_policy::ToolNames;
#[cfg(feature = "home")]
use mainpath_runtime::{BadForm, Vault};
use mainpath_types::{Access, Finished, Profile, Shares, SummaryMode};
use serde::Deserialize;
use std::collections::BTreeMap;
#[cfg(feature = "home")]
use std::collections::BTreeSet;
#[cfg(feature = "home")]
use std::num::NonZeroU8;
use std::num::{NonZeroU32, NonZeroUsize};
use toml::Spanned;

/// `config.toml`.
#[derive(Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConfigFile {
    /// The model to use when none is named.
    pub model: Option<String>,
    /// The models to continue with, in order, when that one fails for good.
    pub fallback: Vec<String>,
    /// The profile to use when none is named.
    pub profile: Option<Profile>,
    /// How long a model's server may take to begin its answer.
    pub first_byte_timeout: Option<Time>,
    /// How long it may be silent within its answer.
    pub idle_timeout: Option<Time>,
    /// The model's window in tokens, whatever is known of it.
    pub context_window: Option<NonZeroU32>,
    /// The most tokens of an answer.
    pub reserved_output: Option<u32>,
    /// What may happen unasked; without it only reading does.
    pub mode: Option<Access>,
    /// Whether the agent's commands have a network.
    pub network: Option<bool>,
    /// Whether commands run without a sandbox where none can be made, also those that only `--yes` allows.
    pub no_sandbox: bool,
    /// Whether all files of the workspace are kept before every command.
    pub snapshots: bool,
    /// The tools that agents may use; all where nothing is said.
    pub allowed_tools: Option<Vec<String>>,
    /// Whether calls that rules allow run by themselves; they do, without it.
    pub auto_execute_tools: Option<bool>,
    /// The sampling temperature.
    pub temperature: Option<Temperature>,
    /// The system text in the place of Mainpath's own. `prompt` comes before it.
    pub system_prompt: Option<String>,
    /// The system text too, as the name of a file in `prompts/` beside `config.toml`. It comes before `system_prompt`.
    pub prompt: Option<String>,
    /// For whom agents work.
    pub uid: Option<String>,
    /// The limits of runs, over those of the profile.
    pub limits: LimitsConfig,
    /// Limits on single tools, by names, aliases and patterns.
    #[schemars(with = "BTreeMap<String, ToolLimit>")]
    pub tool_limits: BTreeMap<Spanned<String>, ToolLimit>,
    /// What is asked or told along the way.
    #[cfg(feature = "home")]
    pub hooks: Vec<HookEntry>,
    /// What has a word in reminders.
    #[cfg(feature = "home")]
    pub context_hooks: Vec<ContextHookEntry>,
    /// After so many turns agents are reminded of their plan and their budgets; 0 is never.
    pub inject_every: Option<u32>,
    /// Who summarises when the window is nearly full.
    pub summary: Option<SummaryMode>,
    /// When the messages of finished goals are left out.
    pub finished_goals: Option<Finished>,
    /// Characters of a request, at four a token. The key of the same name in `[limits]` comes before it.
    pub max_context_chars: Option<u32>,
    /// The shares of a request's sections, in hundredths.
    pub shares: SharesConfig,
    /// What is added to the system text of agents.
    pub instructions: String,
    /// Whether the AGENTS.md files of a workspace are part of it; they are, without it.
    pub agents_md: Option<bool>,
    /// Whether agents have skills; they do, without it.
    pub skills: Option<bool>,
    /// The names of secrets that tools may use.
    pub tool_secrets: Vec<String>,
    /// Tools that are there only when they are configured.
    #[cfg(feature = "home")]
    pub tools: ToolsConfig,
    /// How far they reach.
    #[cfg(feature = "home")]
    pub net: Reach,
    /// Further secrets: name and value. They are kept out of logs, streams and prompts.
    #[schemars()]
    pub secrets: BTreeMap<String, String>,
    /// What else is kept out of them.
    pub redact: Redact,
    /// MCP servers.
    #[cfg(feature = "home")]
    pub mcp: McpConfig,
    /// What agents learned from earlier work.
    pub experience: ExperienceConfig,
    /// What traces are called.
    pub names: NamesConfig,
    /// Whom agents can ask and tell something, and by which channels.
    #[cfg(feature = "people")]
    pub people: PeopleConfig,
    /// Other machines that agents may be started on.
    #[cfg(feature = "home")]
    pub peers: BTreeMap<String, PeerConfig>,
    /// What `mainpath serve` is told.
    pub server: ServerConfig,
    /// Whose signatures of logs count, and when heads are signed.
    #[cfg(feature = "home")]
    pub sign: SignConfig,
    /// How long traces are kept.
    pub retention: Retention,
    /// What sessions are like where nothing else is said.
    pub sessions: SessionsConfig,
}

/// `[retention]`: what `mainpath purge` removes. Without it, nothing by itself.
#[derive(Clone, Copy, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Retention {
    /// Traces that did not change for so long, such as `30d`.
    pub older_than: Option<Time>,
    /// All but so many of the newest.
    pub keep: Option<NonZeroUsize>,
}

/// `[experience]`: what agents learned from earlier work.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExperienceConfig {
    /// Whether agents are shown experiences and have the tools for them. Without it, where there are any.
    pub enabled: Option<bool>,
    /// How many a new trace is shown at most; 5 where nothing is said, 0 for none.
    pub show: Option<u32>,
    /// Whether a run that made calls is reflected on when it has ended.
    pub reflect: bool,
    /// `[experience.embeddings]`: finds experiences by meaning as well.
    #[cfg(feature = "home")]
    pub embeddings: Option<EmbeddingsConfig>,
}

/// `[experience.embeddings]`: an endpoint as OpenAI has it. The texts of accepted experiences and the tasks of new traces are sent to it,
/// without secrets.
#[cfg(feature = "home")]
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingsConfig {
    /// The address, such as `https://api.openai.com/v1/embeddings`.
    pub url: WebAddress,
    /// The model, such as `text-embedding-3-small`.
    pub model: String,
    /// Headers; `{{secret:NAME}}` stands for a secret.
    #[serde(default)]
    pub headers: SecretTexts,
    /// How near an experience must be, in percent of a cosine; 40 where nothing is said.
    pub least: Option<NonZeroU8>,
}

/// `[names]`: what traces are called.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NamesConfig {
    /// The model that makes a name out of a trace's task, a small and cheap one. Without it, or where it fails, the first words of the task
    /// are the name.
    pub model: Option<String>,
}

/// `[shares]`: those that are not named have their usual size.
#[derive(Clone, Copy, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SharesConfig {
    /// Percent of a request for the system text and the tools.
    system: Option<u8>,
    /// For what stands in the place of messages that are left out: the summary, and what is pinned.
    summary: Option<u8>,
    /// For the messages before the newest turn.
    recent: Option<u8>,
    /// For the newest turn, and what came after it.
    current: Option<u8>,
}

impl SharesConfig {
    /// # Errors
    /// They are more than all of a request, or leave nothing to messages.
    #[cfg(feature = "home")]
    fn check(self) -> Result<(), KeyError> {
        let Shares { system, summary, recent, current } = self.all();
        let sum: u32 = [system, summary, recent, current].into_iter().map(u32::from).sum();
        if sum > 100 || recent == 0 || current == 0 || summary == 0 {
            return Err(KeyError::Shares { system, summary, recent, current });
        }
        Ok(())
    }

    /// The shares of a request.
    pub fn all(self) -> Shares {
        let usual = Shares::default();
        Shares {
            system: self.system.unwrap_or(usual.system),
            summary: self.summary.unwrap_or(usual.summary),
            recent: self.recent.unwrap_or(usual.recent),
            current: self.current.unwrap_or(usual.current),
        }
    }
}

/// `[redact]`: secrets that have no name.
#[derive(Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Redact {
    /// Places in the arguments and the JSON outputs of tools, such as `$.headers.authorization` and `$..password`.
    #[schemars(with = "Vec<String>")]
    paths: Vec<Spanned<String>>,
    /// Regular expressions.
    #[schemars(with = "Vec<String>")]
    patterns: Vec<Spanned<String>>,
    /// Kinds that are not looked for.
    #[schemars(with = "Vec<String>")]
    off: Vec<Spanned<String>>,
}

impl Redact {
    /// The vault that it asks for.
    ///
    /// # Errors
    /// An entry is invalid.
    #[cfg(feature = "home")]
    pub(super) fn forms(&self) -> Result<Vault, ValueError> {
        type Add = fn(Vault, &str) -> Result<Vault, BadForm>;
        let lists: [(&'static str, &[Spanned<String>], Add); 3] = [
            ("paths", &self.paths, Vault::with_path),
            ("patterns", &self.patterns, Vault::with_pattern),
            ("off", &self.off, Vault::without),
        ];
        let mut vault = Vault::default();
        for (name, list, add) in lists {
            for entry in list {
                let problem = |source| ValueProblem::Redact { list: name, source };
                let wrong = |source| ValueError { at: entry.span().start, problem: problem(source) };
                vault = add(vault, entry.get_ref()).map_err(wrong)?;
            }
        }
        Ok(vault)
    }
}

impl ConfigFile {
    /// What `config.toml` may say, as a JSON Schema.
    #[cfg(feature = "home")]
    pub fn schema() -> schemars::Schema {
        schemars::schema_for!(ConfigFile)
    }

    /// The limit on a tool: what stands under its name, else under a pattern.
    pub fn tool_limit(&self, tool: &str) -> Option<&ToolLimit> {
        let named = self.tool_limits.iter().filter_map(|(name, limit)| Some((name.get_ref().parse().ok()?, limit)));
        let mut fitting: Vec<(ToolNames, &ToolLimit)> =
            named.filter(|(names, _): &(ToolNames, _)| names.matches(tool)).collect();
        fitting.sort_by_key(|(names, _)| names.one().is_none());
        fitting.first().map(|(_, limit)| *limit)
    }

    /// The names of the hooks that have a word in reminders.
    pub(crate) fn context_hook_names(&self) -> Vec<String> {
        #[cfg(not(feature = "home"))]
        return Vec::new();
        #[cfg(feature = "home")]
        self.context_hooks.iter().map(|hook| hook.name.get_ref().clone()).collect()
    }

    /// The names of the secrets that it uses, and those that stand in it, by name and value.
    pub(super) fn own_secrets(&self) -> (Vec<String>, Vec<(String, String)>) {
        #[cfg(not(feature = "home"))]
        return (self.sessions.password.iter().cloned().collect(), Vec::new());
        #[cfg(feature = "home")]
        self.secrets_of_parts()
    }
}

#[cfg(feature = "home")]
impl ConfigFile {
    fn secrets_of_parts(&self) -> (Vec<String>, Vec<(String, String)>) {
        let mut names = self.tools.secrets();
        names.extend(self.hooks.iter().flat_map(|hook| hook.headers.secrets()));
        names.extend(self.context_hooks.iter().flat_map(|hook| hook.headers.secrets()));
        names.extend(self.experience.embeddings.iter().flat_map(|config| config.headers.secrets()));
        names.extend(self.server.telemetry.headers.secrets());
        names.extend(self.peers.values().map(|peer| peer.key.as_str().into()));
        #[cfg(feature = "people")]
        names.extend(self.people.secrets());
        names.extend(self.sessions.password.clone());
        let (variables, given) = super::secrets::of_servers(&self.mcp);
        names.extend(variables);
        (names, given)
    }

    /// A hook is known by its name.
    ///
    /// # Errors
    /// Two hooks of a kind have one name.
    pub(super) fn check_hooks(&self) -> Result<(), ValueError> {
        let hooks = self.hooks.iter().map(|hook| &hook.name).collect::<Vec<_>>();
        let context = self.context_hooks.iter().map(|hook| &hook.name).collect::<Vec<_>>();
        for (kind, names) in [("hook", hooks), ("context hook", context)] {
            let mut seen = BTreeSet::new();
            if let Some(second) = names.into_iter().find(|name| !seen.insert(name.get_ref())) {
                let problem = ValueProblem::SameHook { kind, name: second.get_ref().clone() };
                return Err(ValueError { at: second.span().start, problem });
            }
        }
        Ok(())
    }

    /// Checks the keys whose values depend on each other.
    ///
    /// # Errors
    /// One can never hold.
    pub(super) fn check_values(&self) -> Result<(), KeyError> {
        if self.allowed_tools.as_ref().is_some_and(Vec::is_empty) {
            return Err(KeyError::NoTools);
        }
        self.shares.check()
    }

    /// Holds the names of hooks and limits to these tools.
    ///
    /// # Errors
    /// A name means no tool, or two limits are of one tool.
    pub(super) fn check_tools<'t>(&self, tools: impl Iterator<Item = &'t str> + Clone) -> Result<(), ValueError> {
        for hook in &self.hooks {
            for names in &hook.tools {
                let problem = |source| ValueProblem::HookTools { hook: hook.name.get_ref().clone(), source };
                let wrong = |source| ValueError { at: names.span().start, problem: problem(source) };
                names.get_ref().0.check(tools.clone()).map_err(wrong)?;
            }
        }
        let mut seen = BTreeSet::new();
        for name in self.tool_limits.keys() {
            let wrong = |problem| ValueError { at: name.span().start, problem };
            let names: ToolNames = name.get_ref().parse().map_err(|error: ToolNameError| wrong(error.into()))?;
            names.check(tools.clone()).map_err(|error| wrong(error.into()))?;
            if let Some(one) = names.one().filter(|one| !seen.insert(one.to_string())) {
                return Err(wrong(ValueProblem::TwoLimits(one.into())));
            }
        }
        Ok(())
    }
}

/// `[tool_limits.NAME]`
#[derive(Clone, Copy, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolLimit {
    /// The most calls of a run; a tool that may never be called is denied by a rule instead.
    pub max_calls: Option<NonZeroU32>,
    /// The most calls in a time, such as `10/1m`.
    pub rate: Option<Rate>,
    /// How long a call may take, such as `30s`.
    pub timeout: Option<Time>,
}
