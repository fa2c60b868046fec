//! The home of this machine's installation: found, read, and held to what it may say.

use super::error::ValueError;
use super::file::ConfigFile;
use super::mistakes;
use super::peers::agent_tool;
use super::place::Home;
use super::toolbox::Unready;
use crate::Error;
use crate::experience::{Lookup, offer};
use crate::skills::{Shelf, with_tools};
#[cfg(feature = "people")]
use mainpath_net::Client;
#[cfg(feature = "people")]
use mainpath_people::People;
use mainpath_runtime::Vault;
use mainpath_store::read_regular_text;
use mainpath_store::scheduler::system_clock;
#[cfg(feature = "people")]
use mainpath_tools::AskHuman;
use mainpath_tools::{EvaluateTool, TakeChanges, Tools};
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Home {
    /// Finds the folders and reads the configuration. Errors: file, line and what is wrong.
    pub fn find() -> Result<Home, Error> {
        match Home::look()? {
            (home, None) => Ok(home),
            (_, Some(wrong)) => Err(wrong),
        }
    }

    /// The home in a folder: its data and its configuration, and nothing of the person's. No tool may touch it, nor what is `around`. Errors: as [`Home::find`]'s.
    pub fn at(folder: &Path, around: Vec<PathBuf>) -> Result<Home, Error> {
        let data = std::path::absolute(folder)?;
        let config_file = data.join("config.toml");
        for place in [&data, &config_file] {
            owners_alone(place)?;
        }
        let (config, forms) = read(&config_file)?;
        let workspaces = config.server.workspaces.clone();
        Ok(Home { data, config_file, config, person: None, around, workspaces, forms })
    }

    /// The same for who can do without a part of the configuration: also what is wrong with it, if anything is; then it holds the
    /// sections that are right. Errors: no folders.
    pub fn look() -> Result<(Home, Option<Error>), Error> {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let user = || var("HOME").ok_or_else(|| Error::failed("neither MAINPATH_HOME nor HOME is set; set one"));
        let (data, config_dir) = match var("MAINPATH_HOME") {
            Some(home) => (home.clone(), home),
            None => {
                let data = var("XDG_DATA_HOME").map_or_else(|| user().map(|home| home.join(".local/share")), Ok)?;
                let config = var("XDG_CONFIG_HOME").map_or_else(|| user().map(|home| home.join(".config")), Ok)?;
                (data.join("mainpath"), config.join("mainpath"))
            }
        };
        let data = std::path::absolute(&data)?;
        let config_file = std::path::absolute(config_dir.join("config.toml"))?;
        for place in [&data, config_file.parent().unwrap_or(&data), &config_file] {
            owners_alone(place)?;
        }
        let (config, forms, wrong) = match read(&config_file) {
            Ok((config, forms)) => (config, forms, None),
            Err(wrong) => {
                let (config, forms) = what_is_right(&config_file);
                (config, forms, Some(wrong))
            }
        };
        let workspaces = config.server.workspaces.clone();
        Ok((Home { data, config_file, config, person: var("HOME"), around: Vec::new(), workspaces, forms }, wrong))
    }

    /// The configuration says nothing that can never hold. Errors: file, line and what is wrong.
    pub fn check_values(&self) -> Result<(), Error> {
        #[cfg(feature = "people")]
        self.config.people.check().map_err(|error| self.wrong_in(&error.key(), &Error::failed(error.to_string())))?;
        self.config.check_values().map_err(|error| self.wrong_in(error.key(), &Error::failed(error.to_string())))
    }

    /// What is wrong at a byte of the configuration.
    pub(crate) fn wrong_at(&self, at: usize, problem: impl fmt::Display) -> Error {
        let text = read_regular_text(&self.config_file).unwrap_or_default();
        wrong(&self.config_file, &text, at, problem)
    }

    /// No two hooks of the configuration have one name. Errors: file, line and what is wrong.
    pub fn check_hooks(&self) -> Result<(), Error> {
        self.placed(self.config.check_hooks())
    }

    /// Holds the names of tools in the configuration to these. Errors: file, line, what is wrong and what may have been meant.
    pub fn check_tools<'t>(&self, tools: impl Iterator<Item = &'t str> + Clone) -> Result<(), Error> {
        self.placed(self.config.check_tools(tools))
    }

    fn placed(&self, checked: Result<(), ValueError>) -> Result<(), Error> {
        checked.map_err(|error| {
            let remedy = error.problem.remedy();
            self.wrong_at(error.at, error.problem).with_remedy(remedy)
        })
    }

    /// The tools of this installation, and those that are configured and cannot be used.
    pub fn toolbox(&self) -> (Tools, Vec<Unready>) {
        let (tools, unready) = self.config.tools.build(&self.config.net, &|name| self.secret(name));
        let tools = tools.with(agent_tool(&self.config.peers)).with(EvaluateTool).with(TakeChanges);
        let tools = self.shelf().map_or(tools.clone(), |shelf| with_tools(tools, &shelf));
        #[cfg(feature = "people")]
        self.offer_people(&tools);
        let experiences = self.experiences();
        if self.has_experience(&experiences) {
            offer(&tools, &Lookup::by_words(Arc::new(experiences)), system_clock);
        }
        (tools, unready)
    }

    /// The skills of this installation; nothing where the configuration has them off.
    pub fn shelf(&self) -> Option<Shelf> {
        self.config.skills.unwrap_or(true).then(|| Shelf::new(&self.data, self.person.clone()))
    }
}

#[cfg(feature = "people")]
impl Home {
    /// The channels to people. `None`: none is configured. Errors: one cannot be used, in a line with its place in the file.
    pub fn people(&self) -> Result<Option<People>, Error> {
        let config = &self.config.people;
        if config.contacts.is_empty() && config.webhook.is_none() && config.feishu.is_none() && config.email.is_none() {
            return Ok(None);
        }
        let made = People::new(config.clone(), &Client::new(&self.config.net), &|name| self.secret(name));
        made.map(Some).map_err(|why| self.wrong_in(&["people"], &Error::failed(format!("[people]: {why}"))))
    }

    /// Adds the tools that reach people. Where a channel cannot be used no agent works: that is told there.
    fn offer_people(&self, tools: &Tools) {
        let Ok(people) = self.people() else { return };
        let people = people.map(Arc::new);
        if let Some(people) = &people {
            let config = people.config();
            let names = config.contacts.iter().filter(|(_, contact)| !contact.ways().is_empty());
            let ask = AskHuman::new(names.map(|(name, _)| name.clone()), config.ask.clone());
            drop(tools.clone().with(ask));
            crate::people::offer(tools, people);
        }
        if self.config.people.agents {
            // Where the inboxes are is known where agents work.
            crate::people::offer_agents(tools, people, crate::people::Agents::Somewhere);
        }
    }
}

/// Whoever can write rules, logs or configuration decides what agents may do. Errors: others can.
fn owners_alone(place: &Path) -> Result<(), Error> {
    let Ok(known) = std::fs::metadata(place) else { return Ok(()) };
    let (own, root) = (rustix::process::geteuid().as_raw(), 0);
    let place = place.display();
    if known.mode() & 0o002 != 0 {
        return Err(Error::failed(format!("{place} can be written by every user of this machine; chmod o-w {place}")));
    }
    // Root looks at the folders of others.
    if own != root && known.uid() != own && known.uid() != root && known.mode() & 0o022 != 0 {
        return Err(Error::failed(format!("{place} belongs to another user, and others can write to it")));
    }
    Ok(())
}

fn read(file: &Path) -> Result<(ConfigFile, Vault), Error> {
    let text = match read_regular_text(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Error::of_io(&error, format!("{} cannot be read: {error}", file.display()))),
    };
    let config: ConfigFile = toml::from_str(&text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        wrong(file, &text, at, mistakes::in_words(error.message(), text.get(at..).unwrap_or_default()))
    })?;
    let forms = config.redact.forms().map_err(|error| wrong(file, &text, error.at, error.problem))?;
    Ok((config, forms))
}

/// What a configuration in which something is wrong says all the same, section by section: nothing, where its grammar is wrong.
fn what_is_right(file: &Path) -> (ConfigFile, Vault) {
    let parsed = |text: &str| -> Option<(ConfigFile, Vault)> {
        let config: ConfigFile = toml::from_str(text).ok()?;
        let forms = config.redact.forms().ok()?;
        Some((config, forms))
    };
    let mut sections: toml::Table =
        read_regular_text(file).ok().and_then(|text| toml::from_str(&text).ok()).unwrap_or_default();
    sections.retain(|name, value| {
        parsed(&toml::Table::from_iter([(name.to_string(), value.clone())]).to_string()).is_some()
    });
    parsed(&sections.to_string()).unwrap_or_default()
}

/// What is wrong at a byte of a file.
fn wrong(file: &Path, text: &str, at: usize, problem: impl fmt::Display) -> Error {
    let line = text.get(..at).unwrap_or("").matches('\n').count() + 1;
    Error::failed(format!("{}, line {line}: {problem}", file.display()))
}
