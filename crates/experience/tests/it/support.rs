use mainpath_experience::{Draft, Experiences, Query};
use std::path::PathBuf;
use tempfile::TempDir;

pub struct Place {
    pub folder: PathBuf,
    pub cache: PathBuf,
    _temp: TempDir,
}

impl Place {
    pub fn new() -> Place {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        Place { folder: top.join("experiences"), cache: top.join("experiences.sqlite"), _temp: temp }
    }

    pub fn open(&self) -> Experiences {
        Experiences::open(&self.folder, &self.cache)
    }

    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        std::fs::create_dir_all(&self.folder).unwrap();
        let file = self.folder.join(name);
        std::fs::write(&file, text).unwrap();
        file
    }
}

pub fn draft(text: &str, intent: &[&str], state: &[&str]) -> Draft {
    let all = |tags: &[&str]| tags.iter().map(ToString::to_string).collect();
    Draft {
        category: "tool_usage".into(),
        text: text.into(),
        intent: all(intent),
        state: all(state),
        ..Draft::default()
    }
}

pub fn texts(found: &Experiences, query: Query) -> Vec<String> {
    let most = if query.most == 0 { 5 } else { query.most };
    found.find(&Query { most, ..query }).unwrap().into_iter().map(|found| found.placed.entry.text).collect()
}

pub fn about(text: &str) -> Query {
    Query { text: text.into(), most: 5, ..Query::default() }
}
