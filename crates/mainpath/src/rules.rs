//! The rules of a run, put together from their files and what its caller adds.
//!
//! Where rules come from: Mainpath itself, `policy.toml` beside the configuration, `.mainpath/policy.toml` in the workspace,
//! the caller, and `/etc/mainpath/policy.toml` of the organisation. What the workspace's file allows holds only once
//! its user has trusted it, and only for the very text that was trusted.

use crate::Remedy;
use crate::{Error, ErrorKind, Home};
use mainpath_policy::{
    Folders, Layer, Policy, PolicyError, Predicate, PredicateError, ToolNameError, check_slip, check_spelling,
    narrow_words,
};
use mainpath_runtime::BuiltinRules;
use mainpath_store::{cause_of, is_scarce, open_regular, write_private};
use mainpath_tools::{Tools, panic_text};
use mainpath_types::{Decision, RuleText, RunRules, Spec};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::any::Any;
use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a project keeps its rules, from the workspace on.
const PROJECT_FILE: &str = ".mainpath/policy.toml";
/// Where an organisation keeps its rules. `MAINPATH_ORG_POLICY` names a further file, whose rules hold as well.
const ORGANISATION_FILE: &str = "/etc/mainpath/policy.toml";
/// The largest rule file, in bytes.
const LARGEST: u64 = 1024 * 1024;

/// Where the rules of a run come from.
#[derive(Clone)]
pub struct Sources {
    config: PathBuf,
    data: PathBuf,
    /// What the command line adds.
    pub run: RunRules,
    /// What a host adds.
    host: Vec<RuleText>,
    /// What takes the place of all of these.
    instead: Option<MakePolicy>,
    /// What takes the place of the files of a layer.
    given: Option<GivenRules>,
    /// The rules below all of these.
    builtin: Arc<BuiltinRules>,
}

/// Rules that are tried in the place of the files of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenRules {
    /// Whose files: the user's, the project's or the organisation's.
    pub layer: Layer,
    /// The rules.
    pub text: RuleText,
}

/// Makes all rules that hold in a workspace, for who is run with these rules of its own.
pub type MakePolicy = Arc<dyn Fn(&Path, &RunRules) -> Result<Policy, Error> + Send + Sync>;

impl Sources {
    /// The files of this installation.
    pub fn new(home: &Home) -> Sources {
        Sources {
            config: home.config_dir().into(),
            data: home.data.clone(),
            run: RunRules::default(),
            host: Vec::new(),
            instead: None,
            given: None,
            builtin: Arc::default(),
        }
    }

    /// The same with the rules of a host, which has these tools. Errors: text, line, what is wrong.
    pub(crate) fn with_host(mut self, rules: Vec<RuleText>, tools: &Tools) -> Result<Sources, Error> {
        let mut policy = Policy::builtin(Folders::default()).map_err(|error| Error::invalid(error.to_string()))?;
        for RuleText { name, text } in &rules {
            policy.add_file(Layer::User, name, text).map_err(|error| Error::invalid(error.to_string()))?;
        }
        check_arguments(&policy, Layer::User, tools)?;
        self.host = rules;
        Ok(self)
    }

    /// The same with all rules made by this.
    pub(crate) fn with_instead(self, instead: Option<MakePolicy>) -> Sources {
        Sources { instead, ..self }
    }

    /// The same with rules in the place of the files of a layer; a project's count as trusted. Errors: text, line, what is wrong; the layer
    /// has no files, or a host makes all rules by itself.
    pub fn with_given(self, given: GivenRules) -> Result<Sources, Error> {
        if self.instead.is_some() {
            return Err(Error::invalid("this host makes its rules by itself: others cannot take their place"));
        }
        if !matches!(given.layer, Layer::User | Layer::Project | Layer::Organisation) {
            return Err(Error::invalid(format!("the layer {} has no files", given.layer.prefix())));
        }
        let mut policy = Policy::builtin(Folders::default()).map_err(|error| Error::invalid(error.to_string()))?;
        let added = policy.add_file(given.layer, &given.text.name, &given.text.text);
        added.map_err(|error| Error::invalid(error.to_string()))?;
        Ok(Sources { given: Some(given), ..self })
    }

    /// All rules that hold in a workspace for who is run with these. Errors: file or flag, line, what is wrong.
    pub fn load(&self, workspace: &str, run: &RunRules) -> Result<Policy, Error> {
        self.load_in(workspace, None, run, false)
    }

    /// All rules that hold for a spec. In a copy those of what it is a copy of hold, and its trust. Errors: as [`Sources::load`]'s.
    pub fn load_for(&self, spec: &Spec) -> Result<Policy, Error> {
        self.load_in(&spec.workspace, spec.copy.as_ref().map(|copy| copy.of.as_str()), &spec.rules, true)
    }

    /// The same with other rules of the caller than the spec's.
    pub(crate) fn load_for_with(&self, spec: &Spec, rules: &RunRules) -> Result<Policy, Error> {
        self.load_in(&spec.workspace, spec.copy.as_ref().map(|copy| copy.of.as_str()), rules, true)
    }

    /// Adds what is given in the place of the files of a layer; whether anything is.
    fn add_given(&self, policy: &mut Policy, layer: Layer) -> Result<bool, PolicyError> {
        let Some(given) = self.given.as_ref().filter(|given| given.layer == layer) else { return Ok(false) };
        policy.add_file(layer, &given.text.name, &given.text.text)?;
        Ok(true)
    }

    fn load_in(
        &self,
        workspace: &str,
        copy_of: Option<&str>,
        run: &RunRules,
        is_recorded: bool,
    ) -> Result<Policy, Error> {
        let RunRules { allow, ask, deny, commands, .. } = run;
        if let Some(make) = &self.instead {
            let made = catch_unwind(AssertUnwindSafe(|| make(Path::new(workspace), run)));
            let panicked = |panic: &(dyn Any + Send)| {
                Error::failed(format!("the policy of this host panicked: {}", panic_text(panic)))
            };
            let mut policy = made.unwrap_or_else(|panic| Err(panicked(&*panic)))?;
            if is_recorded {
                policy = policy.reading_recorded();
            }
            // What its caller denies, or wants to be asked about, nobody takes away.
            add_all(&mut policy, Decision::Ask, ask)?;
            add_all(&mut policy, Decision::Deny, deny)?;
            bound_all(&mut policy, commands)?;
            return Ok(policy);
        }
        let home = std::env::var("HOME").unwrap_or_default();
        // Paths are judged by the place that they lead to.
        let home = Path::new(&home).canonicalize().map_or(home, |place| place.display().to_string());
        let bad = |error: PolicyError| Error::new(ErrorKind::Refused, error.to_string());
        let folders = Folders {
            workspace: workspace.into(),
            home,
            copy_of: copy_of.unwrap_or_default().into(),
            above: String::new(),
        };
        let mut policy = self.builtin.of(folders).map_err(bad)?;
        if !self.add_given(&mut policy, Layer::Organisation).map_err(bad)? {
            let further = std::env::var_os("MAINPATH_ORG_POLICY").filter(|file| !file.is_empty());
            for file in [Some(ORGANISATION_FILE.into()), further.map(PathBuf::from)].into_iter().flatten() {
                add(&mut policy, Layer::Organisation, &file)?;
            }
        }
        if !self.add_given(&mut policy, Layer::User).map_err(bad)? {
            add(&mut policy, Layer::User, &self.config.join("policy.toml"))?;
        }
        for RuleText { name, text } in &self.host {
            policy.add_file(Layer::User, name, text).map_err(bad)?;
        }
        if !self.add_given(&mut policy, Layer::Project).map_err(bad)? {
            self.add_project(&mut policy, copy_of.unwrap_or(workspace))?;
        }
        if is_recorded {
            policy = policy.reading_recorded();
        }
        for RuleText { name, text } in &run.files {
            policy.add_file(Layer::Run, name, text).map_err(bad)?;
        }
        for (decision, texts) in [(Decision::Allow, allow), (Decision::Ask, ask), (Decision::Deny, deny)] {
            add_all(&mut policy, decision, texts)?;
        }
        bound_all(&mut policy, commands)?;
        Ok(policy)
    }

    /// Adds the rules of a workspace's own file, and of those in the folders of the project above it. Errors: file, line, what is wrong.
    fn add_project(&self, policy: &mut Policy, workspace: &str) -> Result<(), Error> {
        let bad = |error: PolicyError| Error::new(ErrorKind::Refused, error.to_string());
        for folder in rule_folders(workspace) {
            let folder = folder.to_string_lossy();
            let file = project_file(&folder);
            let Some(text) = read(&file)? else { continue };
            let name = file.display().to_string();
            let is_trusted = self.trusted()?.get(&*folder).is_some_and(|known| *known == hash(&text));
            let added = match (folder == workspace, is_trusted) {
                (false, is_trusted) => policy.add_above(&folder, &name, &text, is_trusted),
                (true, true) => policy.add_file(Layer::Project, &name, &text),
                (true, false) => policy.add_untrusted(&name, &text),
            };
            added.map_err(bad)?;
        }
        Ok(())
    }

    /// Trusts the project's rules that hold in a workspace, in their present text: those of its own file and of the project's folders above it.
    /// Returns the files. Errors: there is no such file, or nothing can be written.
    pub fn trust(&self, workspace: &str) -> Result<Vec<PathBuf>, Error> {
        let (mut trusted, mut files) = (self.trusted()?, Vec::new());
        for folder in rule_folders(workspace) {
            let folder = folder.to_string_lossy();
            let file = project_file(&folder);
            let Some(text) = read(&file)? else { continue };
            trusted.insert(folder.into_owned(), hash(&text));
            files.push(file);
        }
        if files.is_empty() {
            let file = project_file(workspace);
            return Err(Error::new(
                ErrorKind::Refused,
                format!("there is nothing to trust: {} does not exist", file.display()),
            ));
        }
        self.save(&trusted)?;
        Ok(files)
    }

    /// Trusts them no longer. Returns the folders whose rules were trusted. Errors: nothing can be written.
    pub fn distrust(&self, workspace: &str) -> Result<Vec<PathBuf>, Error> {
        let mut trusted = self.trusted()?;
        let mut folders = rule_folders(workspace);
        folders.retain(|folder| trusted.remove(&*folder.to_string_lossy()).is_some());
        self.save(&trusted)?;
        Ok(folders)
    }

    fn save(&self, trusted: &BTreeMap<String, String>) -> Result<(), Error> {
        Ok(write_private(&self.trust_file(), format!("{:#}\n", json!(trusted)).as_bytes())?)
    }

    fn trust_file(&self) -> PathBuf {
        self.data.join("trusted-policies.json")
    }

    /// The workspaces whose rules are trusted, each with the hash of the text that was. Errors: the file cannot be read.
    fn trusted(&self) -> Result<BTreeMap<String, String>, Error> {
        let file = self.trust_file();
        let Some(text) = read(&file)? else { return Ok(BTreeMap::new()) };
        serde_json::from_str(&text).map_err(|error| Error::failed(format!("{}: {error}", file.display())))
    }
}

/// Adds single rules of a run. Errors: what is wrong with one.
fn add_all(policy: &mut Policy, decision: Decision, rules: &[String]) -> Result<(), Error> {
    let mut rules = rules.iter().enumerate();
    rules.try_for_each(|(at, rule)| policy.add_rule(decision, rule).map_err(|error| Error::from(error).at(at)))
}

/// Adds the lists of commands of which a run's commands must be. Errors: what is wrong with one.
fn bound_all(policy: &mut Policy, lists: &[Vec<String>]) -> Result<(), Error> {
    Ok(lists.iter().try_for_each(|commands| policy.bound_commands(commands))?)
}

/// Holds the single rules that an agent is given in code to the tools that there are, and to `others`, the names of those that could be.
/// Errors: one cannot be read, misspells a tool, means any arguments in another program's spelling, or is about an argument that its tool does
/// not have.
pub(crate) fn check_given(rules: &RunRules, tools: &Tools, others: &[String]) -> Result<(), Error> {
    let names = tools.names();
    let names: Vec<&str> = names.iter().chain(others).map(String::as_str).collect();
    let policy = check_singles(rules, |pattern| check_slip(pattern, &names).and_then(|()| check_spelling(pattern)))?;
    check_arguments(&policy, Layer::Run, tools)
}

/// Reads the rules of a run that are given one by one, and holds what each names to `check`. Errors: the list of one that cannot be read,
/// or that `check` refuses.
pub(crate) fn check_singles(
    rules: &RunRules,
    check: impl Fn(&str) -> Result<(), ToolNameError>,
) -> Result<Policy, Error> {
    check_breakpoints(rules, &check)?;
    let RunRules { allow, ask, deny, .. } = rules;
    let lists = [
        (Decision::Allow, "rules.allow", allow),
        (Decision::Ask, "rules.ask", ask),
        (Decision::Deny, "rules.deny", deny),
    ];
    let mut policy = Policy::new(Folders::default());
    for (decision, field, texts) in lists {
        let known = policy.rules().len();
        add_all(&mut policy, decision, texts)?;
        for (at, rule) in policy.rules().iter().skip(known).enumerate() {
            let wrong = |problem: ToolNameError| {
                Error::of_field(field, format_args!(": {problem}")).at(at).with_remedy(Remedy::of(&problem))
            };
            rule.matches.iter().try_for_each(|pattern| check(pattern).map_err(wrong))?;
        }
    }
    Ok(policy)
}

/// Checks the breakpoints of a run, and the tools that they name in full. Errors: one cannot be read; where, and what is expected there; or
/// `check` refuses a tool.
fn check_breakpoints(rules: &RunRules, check: &impl Fn(&str) -> Result<(), ToolNameError>) -> Result<(), Error> {
    for text in &rules.breakpoints {
        let bad = |wrong: PredicateError| Error::of_field("rules.breakpoints", format_args!(" {text:?}, {wrong}"));
        let read = Predicate::breakpoint(text).map_err(bad)?;
        for tool in read.tools() {
            check(tool).map_err(|problem| {
                let wrong = Error::of_field("rules.breakpoints", format_args!(" {text:?}: {problem}"));
                wrong.with_remedy(Remedy::of(&problem))
            })?;
        }
    }
    Ok(())
}

/// Returns true if the rules that the caller of a run gave spare a person a question: one of them allows calls, or a file switches other
/// rules off. A file that cannot be read counts as one that allows.
pub fn loosen(rules: &RunRules) -> bool {
    let RunRules { allow, files, .. } = rules;
    let read = || {
        let mut policy = Policy::builtin(Folders::default())?.reading_recorded();
        files.iter().try_for_each(|file| policy.add_file(Layer::Run, &file.name, &file.text))?;
        Ok::<_, PolicyError>(policy)
    };
    let loosens = |policy: &Policy| {
        let mut rules = policy.rules().iter();
        rules.any(|rule| match rule.layer {
            Layer::Run => rule.decision == Decision::Allow,
            _ => rule.ignored.is_some(),
        })
    };
    !allow.is_empty() || !files.is_empty() && read().map_or(true, |policy| loosens(&policy))
}

/// The same rules, held to these tools each time that they are made. Errors: as [`check_given`]'s.
pub(crate) fn checking(make: MakePolicy, tools: Tools, others: &'static [&'static str]) -> MakePolicy {
    Arc::new(move |workspace, run| {
        let policy = make(workspace, run)?;
        let names = tools.names();
        let names: Vec<&str> = names.iter().map(String::as_str).chain(others.iter().copied()).collect();
        for rule in policy.rules().iter().filter(|rule| rule.layer != Layer::Builtin) {
            for pattern in &rule.matches {
                check_slip(pattern, &names)
                    .and_then(|()| check_spelling(pattern))
                    .map_err(|problem| Error::invalid(format!("the policy of this host: {problem}")))?;
            }
            check_arguments(&policy, rule.layer, &tools)?;
        }
        Ok(policy)
    })
}

/// Holds the rules of a layer to the arguments of the tools that there are. Errors: a rule is about an argument that its tool does
/// not have.
fn check_arguments(policy: &Policy, layer: Layer, tools: &Tools) -> Result<(), Error> {
    if !policy.names_arguments(layer) {
        return Ok(());
    }
    let specs = tools.specs();
    let schemas: Vec<(&str, &Value)> = specs.iter().map(|tool| (tool.name.as_str(), &*tool.input_schema)).collect();
    Ok(policy.check_arguments(layer, &schemas)?)
}

/// The folders of a project above a workspace, the highest first: up to the root of the repository, or, without one, as far as they belong
/// to the same user. The home and what is above it are no project.
fn folders_above(workspace: &Path) -> Vec<PathBuf> {
    let owner = |folder: &Path| folder.metadata().map(|data| data.uid()).ok();
    let home = std::env::var_os("HOME").and_then(|home| Path::new(&home).canonicalize().ok());
    let own = owner(workspace);
    let is_root = |folder: &Path| folder.join(".git").symlink_metadata().is_ok();
    let mut above = Vec::new();
    if is_root(workspace) {
        return above;
    }
    for folder in workspace.ancestors().skip(1) {
        if owner(folder) != own
            || folder.parent().is_none()
            || home.as_deref().is_some_and(|home| home.starts_with(folder))
        {
            break;
        }
        above.insert(0, folder.to_path_buf());
        if is_root(folder) {
            break;
        }
    }
    above
}

/// The folders whose project files hold in a workspace, the nearest last.
fn rule_folders(workspace: &str) -> Vec<PathBuf> {
    let workspace = Path::new(workspace);
    folders_above(workspace).into_iter().chain([workspace.to_path_buf()]).collect()
}

/// Where a project keeps its rules.
pub fn project_file(workspace: &str) -> PathBuf {
    Path::new(workspace).join(PROJECT_FILE)
}

/// The rules that a caller gives in files, with their text. Errors: a file is not there, or cannot be read.
pub fn read_files(files: &[PathBuf]) -> Result<Vec<RuleText>, Error> {
    let text = |file: &PathBuf| {
        let text = read(file)?;
        let text =
            text.ok_or_else(|| Error::of_field("rules.files", format_args!(": there is no file {}", file.display())))?;
        Ok(RuleText { name: file.display().to_string(), text })
    };
    files.iter().map(text).collect()
}

/// Adds a file's rules, if there is such a file.
fn add(policy: &mut Policy, layer: Layer, file: &Path) -> Result<bool, Error> {
    let Some(text) = read(file)? else { return Ok(false) };
    let added = policy.add_file(layer, &file.display().to_string(), &text);
    added.map_err(|error| Error::new(ErrorKind::Refused, error.to_string()))?;
    Ok(true)
}

/// A file's text, or `None` if there is none. Errors: it is too large, no text, no file, or cannot be read.
fn read(file: &Path) -> Result<Option<String>, Error> {
    let bad = |why: String| Error::new(ErrorKind::Refused, format!("{} cannot be used: {why}", file.display()));
    let mut bytes = Vec::new();
    match open_regular(file).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if is_scarce(cause_of(&error)) => {
            return Err(Error::new(ErrorKind::Scarce, format!("{} cannot be read: {error}", file.display())));
        }
        Err(error) => return Err(bad(error.to_string())),
    }
    if bytes.len() as u64 > LARGEST {
        return Err(bad("it is larger than 1 MiB".into()));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| bad("it is not UTF-8 text".into()))
}

fn hash(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the rules that mean a command of one word where arguments may have been meant, in a line each: file, line, and what may have been
/// meant.
pub(crate) fn narrow(policy: &Policy) -> Vec<String> {
    let others = policy.rules().iter().filter(|rule| rule.layer != Layer::Builtin);
    let narrow = others.flat_map(|rule| {
        let at = rule.place.as_ref().map(|(file, line)| format!("{file}, line {line}: ")).unwrap_or_default();
        rule.matches.iter().filter_map(|pattern| narrow_words(pattern)).map(move |hint| format!("{at}{hint}"))
    });
    narrow.collect()
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

/// The rules of a workspace as they have just been loaded.
pub struct Checked {
    /// Its folder.
    pub workspace: String,
    /// What the caller gave.
    pub run: RunRules,
    /// All rules.
    pub policy: Arc<Policy>,
}
