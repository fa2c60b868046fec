//! Skills on a disk.

use mainpath_skills::{Places, Skill, Skills};
use std::path::{Path, PathBuf};

/// A project in a repository, and a home beside it.
pub struct Disk {
    pub place: tempfile::TempDir,
    pub places: Places,
}

impl Disk {
    pub fn new() -> Disk {
        let place = tempfile::tempdir().unwrap();
        let (project, home) = (place.path().join("project"), place.path().join("home"));
        std::fs::create_dir_all(project.join(".git")).unwrap();
        std::fs::create_dir_all(&home).unwrap();
        let places = Places { workspace: Some(project), home: Some(home), ..Places::default() };
        Disk { place, places }
    }

    /// A path on the disk, behind every link that the temporary folder lies behind.
    pub fn path(&self, path: &str) -> PathBuf {
        self.place.path().canonicalize().unwrap().join(path)
    }

    pub fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A skill's folder, with a file.
    pub fn skill(&self, folder: &str, description: &str) -> PathBuf {
        let name = Path::new(folder).file_name().unwrap().to_str().unwrap();
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n# {name}\n\nThe body.\n");
        self.write(&format!("{folder}/SKILL.md"), &text).parent().unwrap().into()
    }

    pub fn link(&self, link: &str, to: impl AsRef<Path>) {
        let link = self.path(link);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(to, link).unwrap();
    }

    pub fn pipe(&self, path: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    }

    pub fn trust(&mut self, folder: &str) {
        let folder = self.path(folder);
        self.places.trusted.trust(&folder).unwrap();
    }

    pub fn read(&self) -> Skills {
        Skills::read(&self.places)
    }
}

pub fn names(skills: &[Skill]) -> Vec<&str> {
    skills.iter().map(|skill| skill.card.name.as_str()).collect()
}
