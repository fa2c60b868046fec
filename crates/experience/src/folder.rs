//! The folder: what is in it, and how it is changed so that nothing of what others write at the same time is lost.

use crate::block::{Block, blocks};
use crate::cache::Cache;
use crate::entry::{Draft, Entry, Placed, Status};
use crate::error::ExperienceError;
use crate::find::{Found, Query};
use crate::read::{Contents, check, read_block, read_text};
use crate::stamp::{LATELY, Listed, Stamp, is_known, look};
use crate::vectors::{Near, Unembedded, Vector};
use crate::write::{name_of_status, tame, text_of, with_field};
use mainpath_skills::{Problem, open_file_in, open_folder, read_whole};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The largest file that is read, in bytes.
pub const LARGEST_FILE: u64 = 4 * 1024 * 1024;
/// How long another process may be waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked whether it is done.
const LOOK: Duration = Duration::from_millis(5);
/// The file whose lock a writer holds.
const LOCK: &str = ".lock";
/// Letters and digits of ids: none that look like another.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// The entries of a folder.
pub struct Experiences {
    folder: PathBuf,
    cache_file: PathBuf,
    cache: Mutex<Option<Cache>>,
    listed: Mutex<Option<Listed>>,
    lately: Duration,
}

/// What is to be changed of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It helped once more.
    Helped,
    /// It did harm once more.
    Harmed,
    /// Whether agents may see it.
    Status(Status),
}

impl Experiences {
    /// The entries of a folder, which need not be there yet, with a cache beside it: a file that is made once there are entries, where it
    /// can be, and made again where it is damaged. Nothing is opened yet.
    pub fn open(folder: impl Into<PathBuf>, cache: impl Into<PathBuf>) -> Experiences {
        Experiences {
            folder: folder.into(),
            cache_file: cache.into(),
            cache: Mutex::default(),
            listed: Mutex::default(),
            lately: LATELY,
        }
    }

    /// The same, but each of many files is looked at again after this time instead of 5 seconds.
    pub fn look_again_after(self, lately: Duration) -> Experiences {
        Experiences { lately, ..self }
    }

    /// Where the entries are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether there is a file that could hold an entry. Reads nothing.
    pub fn is_empty(&self) -> bool {
        look(&self.folder, &self.listed).is_ok_and(|looked| looked.is_empty())
    }

    /// Everything that is there, in the order of the files' names. Errors: the folder or the cache cannot be read.
    pub fn all(&self) -> Result<Contents, ExperienceError> {
        self.fresh()?.as_mut().map_or_else(|| Ok(Contents::default()), |cache| cache.all(&self.folder))
    }

    /// One entry. Errors: there is none of this id, among others.
    pub fn get(&self, id: &str) -> Result<Placed, ExperienceError> {
        let found = self.fresh()?.as_mut().map_or(Ok(None), |cache| cache.get(&self.folder, id))?;
        found.ok_or_else(|| ExperienceError::Unknown(id.into()))
    }

    /// What fits best, the best first. In a folder of a thousand files and more one that was written in its place a few seconds ago may be seen as it was
    /// before, unless it is among what is found. Errors: the folder or the cache cannot be read.
    pub fn find(&self, query: &Query) -> Result<Vec<Found>, ExperienceError> {
        self.find_near(query, None)
    }

    /// The same, and what is near in meaning among the entries that have vectors. Errors: as [`Experiences::find`]'s.
    pub fn find_near(&self, query: &Query, near: Option<&Near>) -> Result<Vec<Found>, ExperienceError> {
        if is_known(&self.folder, &self.listed, self.lately) {
            let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(cache) = cache.as_mut()
                && let Ok(found) = cache.find(&self.folder, query, near)
                && found.iter().all(|one| cache.is_as_it_was(&one.placed.file))
            {
                return Ok(found);
            }
        }
        self.fresh()?.as_mut().map_or_else(|| Ok(Vec::new()), |cache| cache.find(&self.folder, query, near))
    }

    /// Accepted entries that have no vector of this model yet, so many at most. Errors: the folder or the cache cannot be read.
    pub fn unembedded(&self, model: &str, most: usize) -> Result<Vec<Unembedded>, ExperienceError> {
        self.fresh()?.as_mut().map_or_else(|| Ok(Vec::new()), |cache| cache.unembedded(model, most))
    }

    /// Keeps vectors of a model. Errors: the cache cannot be written.
    pub fn keep_vectors(&self, model: &str, vectors: &[Vector]) -> Result<(), ExperienceError> {
        self.fresh()?.as_mut().map_or(Ok(()), |cache| cache.keep(model, vectors))
    }

    /// Makes the cache again. Errors: it cannot be written.
    pub fn rebuild(&self) -> Result<(), ExperienceError> {
        if let Some(cache) = self.fresh()?.as_mut() {
            cache.clear()?;
        }
        self.fresh().map(drop)
    }

    /// Writes a new entry into a file of its own. One that rests on somebody else's words waits for a person. Errors: it is no entry, or
    /// nothing can be written.
    pub fn add(&self, draft: Draft) -> Result<Placed, ExperienceError> {
        let Draft { category, state, intent, trace_id, created_at, origin, text } = draft;
        let mut entry = Entry {
            id: "new".into(),
            category: if category.trim().is_empty() { "general".into() } else { in_a_line(&category) },
            state: state.iter().map(|tag| in_a_line(tag)).collect(),
            intent: intent.iter().map(|tag| in_a_line(tag)).collect(),
            helpful: 1,
            harmful: 0,
            trace_id,
            created_at,
            origin,
            status: Status::Accepted,
            text: tame(&text),
        };
        if entry.is_foreign() {
            entry.status = Status::Waiting;
        }
        check(&entry)?;
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(|error| self.io(error))?;
        let _lock = self.lock()?;
        let known = self.all()?.entries;
        for _ in 0..100 {
            entry.id = new_id().map_err(|error| self.io(error))?;
            let file = self.folder.join(format!("{}.md", entry.id));
            if known.iter().any(|placed| placed.entry.id == entry.id) {
                continue;
            }
            match self.put(&file, &text_of(&entry), None) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(source) => return Err(ExperienceError::Io { file, source }),
                Ok(()) => return Ok(Placed { entry, file, line: 1 }),
            }
        }
        Err(self.io(io::Error::other("no free id was found")))
    }

    /// Changes an entry in its file; whatever else stands there stays as it is. Errors: there is none of this id, it is written in a way
    /// that cannot be changed so, or nothing can be written.
    pub fn change(&self, id: &str, change: Change) -> Result<Entry, ExperienceError> {
        // Told before there is a lock: without an entry there may be no folder.
        self.get(id)?;
        let _lock = self.lock()?;
        let Read { file, text, block, entry } = self.read(id)?;
        let (name, value, wanted) = match change {
            Change::Helped => {
                let helpful = entry.helpful.saturating_add(1);
                ("helpful", helpful.to_string(), Entry { helpful, ..entry })
            }
            Change::Harmed => {
                let harmful = entry.harmful.saturating_add(1);
                ("harmful", harmful.to_string(), Entry { harmful, ..entry })
            }
            Change::Status(status) => ("status", name_of_status(status).to_string(), Entry { status, ..entry }),
        };
        let by_hand =
            || ExperienceError::ByHand { file: file.clone(), line: block.line, what: format!("{name}: {value}") };
        let new = with_field(&text, &block, name, &value).ok_or_else(by_hand)?;
        // What a person wrote may mean something else on more than one line.
        let (before, after) = (read_text(&file, &text), read_text(&file, &new));
        let as_wanted = |placed: &Placed| match placed.entry.id == wanted.id && placed.line == block.line {
            true => wanted.clone(),
            false => placed.entry.clone(),
        };
        let expected: Vec<Entry> = before.entries.iter().map(as_wanted).collect();
        if !after.entries.iter().map(|placed| &placed.entry).eq(&expected) || before.broken.len() != after.broken.len()
        {
            return Err(by_hand());
        }
        self.put(&file, &new, Some(&file)).map_err(|source| ExperienceError::Io { file, source })?;
        Ok(wanted)
    }

    /// Removes an entry; a file that then holds nothing goes as well. Errors: there is none of this id, or nothing can be written.
    pub fn remove(&self, id: &str) -> Result<Entry, ExperienceError> {
        self.get(id)?;
        let _lock = self.lock()?;
        let Read { file, text, block, entry } = self.read(id)?;
        let mut left = text.clone();
        left.replace_range(block.range, "");
        let done = match left.trim().is_empty() {
            true => std::fs::remove_file(&file).and_then(|()| self.sync()),
            false => self.put(&file, &left, Some(&file)),
        };
        done.map_err(|source| ExperienceError::Io { file, source })?;
        Ok(entry)
    }

    /// The cache as the files are now; `None` where there are none.
    fn fresh(&self) -> Result<MutexGuard<'_, Option<Cache>>, ExperienceError> {
        let looked = look(&self.folder, &self.listed).map_err(|error| self.io(error))?;
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.is_empty() {
            *cache = None;
            return Ok(cache);
        }
        let folder = open_folder(&self.folder);
        let read = |stamp: &Stamp| -> Result<String, Problem> {
            if !stamp.is_file {
                let is_link = self.folder.join(&stamp.name).is_symlink();
                return Err(if is_link { Problem::Link } else { Problem::NotAFile });
            }
            text_in(folder.as_ref().map_err(Clone::clone)?, &stamp.name)
        };
        let fresh = match cache.take() {
            Some(open) => open,
            None => Cache::open(&self.cache_file)?,
        };
        cache.insert(fresh).refresh(&self.folder, &looked, read)?;
        Ok(cache)
    }

    /// An entry in its file, as that is now.
    fn read(&self, id: &str) -> Result<Read, ExperienceError> {
        let Placed { file, .. } = self.get(id)?;
        let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let text = open_folder(&self.folder).and_then(|folder| text_in(&folder, name));
        let text = text.map_err(|problem| ExperienceError::Io {
            file: file.clone(),
            source: io::Error::other(problem.to_string()),
        })?;
        for block in blocks(&text).0 {
            if let Ok(entry) = read_block(&text, &block)
                && entry.id == id
            {
                return Ok(Read { file, text, block, entry });
            }
        }
        Err(ExperienceError::Unknown(id.into()))
    }

    /// Puts a file in its place as a whole. `old`: the file that it is to replace; without one, a file that is there stays.
    fn put(&self, file: &Path, text: &str, old: Option<&Path>) -> io::Result<()> {
        let mut new = tempfile::Builder::new().prefix(".new-").tempfile_in(&self.folder)?;
        new.write_all(text.as_bytes())?;
        if let Some(old) = old {
            new.as_file().set_permissions(std::fs::symlink_metadata(old)?.permissions())?;
        }
        new.as_file().sync_all()?;
        match old {
            Some(_) => new.persist(file).map_err(|error| error.error)?,
            None => new.persist_noclobber(file).map_err(|error| error.error)?,
        };
        self.sync()
    }

    fn sync(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }

    /// Keeps other writers out until it is dropped.
    fn lock(&self) -> Result<OwnedFd, ExperienceError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file =
            open(self.folder.join(LOCK), flags, Mode::from_raw_mode(0o600)).map_err(|error| self.io(error.into()))?;
        let until = Instant::now() + PATIENCE;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < until => std::thread::sleep(LOOK),
                Err(Errno::WOULDBLOCK | Errno::INTR) => return Err(ExperienceError::Busy(self.folder.clone())),
                Err(other) => return Err(self.io(other.into())),
            }
        }
    }

    fn io(&self, source: io::Error) -> ExperienceError {
        ExperienceError::Io { file: self.folder.clone(), source }
    }
}

struct Read {
    file: PathBuf,
    text: String,
    block: Block,
    entry: Entry,
}

fn text_in(folder: &OwnedFd, name: &str) -> Result<String, Problem> {
    let bytes = read_whole(open_file_in(folder, OsStr::new(name))?, LARGEST_FILE)?;
    String::from_utf8(bytes).map_err(|_| Problem::NotText)
}

/// A new id. Errors: the system gives no random bytes.
fn new_id() -> io::Result<String> {
    let mut bytes = [0; 6];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    let letters = bytes.iter().filter_map(|byte| LETTERS.get(usize::from(*byte) % LETTERS.len()));
    Ok(format!("ex_{}", letters.map(|letter| char::from(*letter)).collect::<String>()))
}
/// A name without ends of lines and other controls.
fn in_a_line(name: &str) -> String {
    let clear: String = name.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    clear.split_whitespace().collect::<Vec<_>>().join(" ")
}
