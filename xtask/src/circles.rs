//! Files of a crate that import each other in a circle.

use crate::test_only::is_test_only;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// The files of a crate: by module path what they define, pass on and use.
#[derive(Default)]
pub struct Crate {
    files: BTreeMap<Vec<String>, Module>,
}

#[derive(Default)]
struct Module {
    file: PathBuf,
    /// Names of its own items.
    items: BTreeSet<String>,
    /// Names that it imports or passes on, with the path that they stand for.
    names: BTreeMap<String, Vec<String>>,
    /// Modules of which it takes every name.
    globs: Vec<Vec<String>>,
    /// Paths that it uses, from the crate's root on.
    used: BTreeSet<Vec<String>>,
}

impl Crate {
    /// Adds a file under its path from the crate's `src`.
    pub fn add(&mut self, file: &Path, parsed: &syn::File) {
        let at = module_path(file);
        let mut module = Module { file: file.into(), ..Module::default() };
        let mut seen = Seen { at: &at, module: &mut module };
        seen.visit_file(parsed);
        self.files.insert(at, module);
    }

    /// The circles: files, each of which leads to all others of its circle.
    pub fn circles(&self) -> Vec<Vec<&Path>> {
        let edges: BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> =
            self.files.iter().map(|(at, module)| (at, self.targets(at, module))).collect();
        let reach: BTreeMap<_, BTreeSet<&Vec<String>>> = edges
            .keys()
            .map(|at| {
                let (mut reached, mut next) = (BTreeSet::new(), vec![*at]);
                while let Some(one) = next.pop() {
                    next.extend(edges[one].iter().filter(|other| reached.insert(**other)));
                }
                (*at, reached)
            })
            .collect();
        let mut circles: Vec<Vec<&Path>> = Vec::new();
        let mut taken = BTreeSet::new();
        for (at, reached) in &reach {
            if !reached.contains(at) || !taken.insert(*at) {
                continue;
            }
            let circle: Vec<_> = reached.iter().filter(|other| reach[**other].contains(at)).copied().collect();
            taken.extend(circle.iter().copied());
            if circle.len() > 1 {
                circles.push(circle.iter().map(|at| self.files[*at].file.as_path()).collect());
            }
        }
        circles
    }

    /// What files of a circle use of each other: file, file, path.
    pub fn edges<'a>(&'a self, circle: &[&Path]) -> Vec<(&'a Path, &'a Path, String)> {
        let mut edges = Vec::new();
        for (at, module) in self.files.iter().filter(|(_, module)| circle.contains(&module.file.as_path())) {
            for path in &module.used {
                let Some(target) = self.resolve(path, 0).filter(|target| *target != at && !target.is_empty()) else {
                    continue;
                };
                let file = self.files[target].file.as_path();
                if circle.contains(&file) {
                    edges.push((module.file.as_path(), file, path.join("::")));
                }
            }
        }
        edges
    }

    /// The files that a file uses something of. The crate's root only declares and passes on: using it is no import.
    fn targets(&self, at: &Vec<String>, module: &Module) -> BTreeSet<&Vec<String>> {
        let found = module.used.iter().filter_map(|path| self.resolve(path, 0));
        found.filter(|target| *target != at && !target.is_empty()).collect()
    }

    /// The file that defines what a path means.
    fn resolve(&self, path: &[String], depth: u32) -> Option<&Vec<String>> {
        let most = (0..=path.len()).rev().find(|length| self.files.contains_key(&path[..*length]))?;
        let (at, module) = self.files.get_key_value(&path[..most])?;
        let Some(name) = path.get(most) else { return Some(at) };
        if module.items.contains(name) || depth > 8 {
            return Some(at);
        }
        if let Some(real) = module.names.get(name) {
            let rest = path.get(most + 1..).unwrap_or_default();
            return self.resolve(&[real.as_slice(), rest].concat(), depth + 1);
        }
        let in_glob = |glob: &&Vec<String>| {
            let whole = [glob.as_slice(), &path[most..]].concat();
            self.resolve(&whole, depth + 1).is_some_and(|found| self.files[found].items.contains(name))
        };
        match module.globs.iter().find(in_glob) {
            Some(glob) => self.resolve(&[glob.as_slice(), &path[most..]].concat(), depth + 1),
            None => Some(at),
        }
    }
}

/// `a/b.rs` and `a/b/mod.rs` are the module `a::b`.
fn module_path(file: &Path) -> Vec<String> {
    let mut steps: Vec<String> =
        file.with_extension("").iter().map(|step| step.to_string_lossy().into_owned()).collect();
    if steps.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        steps.pop();
    }
    steps
}

struct Seen<'a> {
    at: &'a [String],
    module: &'a mut Module,
}

impl Seen<'_> {
    /// A path from the crate's root on; `None` of those that lead elsewhere.
    fn whole(&self, path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([self.at, rest].concat()),
            "super" => {
                let mut base = self.at;
                let mut rest = path;
                while let Some((_, after)) = rest.split_first().filter(|(step, _)| *step == "super") {
                    (base, rest) = (base.split_last().map_or(base, |(_, parent)| parent), after);
                }
                Some([base, rest].concat())
            }
            _ => self.module.names.get(first).map(|named| [named.as_slice(), rest].concat()),
        }
    }

    fn import(&mut self, tree: &syn::UseTree, prefix: &[String]) {
        match tree {
            syn::UseTree::Path(path) => {
                self.import(&path.tree, &[prefix, &[path.ident.to_string()]].concat());
            }
            syn::UseTree::Name(name) => self.named(&name.ident.to_string(), &name.ident.to_string(), prefix),
            syn::UseTree::Rename(name) => self.named(&name.ident.to_string(), &name.rename.to_string(), prefix),
            syn::UseTree::Glob(_) => {
                if let Some(whole) = self.whole(prefix) {
                    self.module.globs.push(whole.clone());
                    self.module.used.insert(whole);
                }
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, prefix)),
        }
    }

    fn named(&mut self, name: &str, own: &str, prefix: &[String]) {
        let path = if name == "self" { prefix.to_vec() } else { [prefix, &[name.to_string()]].concat() };
        let own = if own == "self" { prefix.last().cloned().unwrap_or_default() } else { own.to_string() };
        if let Some(whole) = self.whole(&path) {
            self.module.names.insert(own, whole.clone());
            self.module.used.insert(whole);
        }
    }
}

impl<'ast> Visit<'ast> for Seen<'_> {
    fn visit_file(&mut self, file: &'ast syn::File) {
        // Modules and items first: imports may come before the names that they begin with.
        for item in &file.items {
            let ident = match item {
                syn::Item::Mod(item) if item.content.is_none() => {
                    let path = [self.at, &[item.ident.to_string()]].concat();
                    self.module.names.insert(item.ident.to_string(), path);
                    continue;
                }
                syn::Item::Struct(item) => &item.ident,
                syn::Item::Enum(item) => &item.ident,
                syn::Item::Trait(item) => &item.ident,
                syn::Item::Fn(item) => &item.sig.ident,
                syn::Item::Const(item) => &item.ident,
                syn::Item::Static(item) => &item.ident,
                syn::Item::Type(item) => &item.ident,
                _ => continue,
            };
            self.module.items.insert(ident.to_string());
        }
        visit::visit_file(self, file);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test_only(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test_only(&item.attrs) {
            self.import(&item.tree, &[]);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let steps: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if steps.len() > 1
            && let Some(whole) = self.whole(&steps)
        {
            self.module.used.insert(whole);
        }
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let mut all = Crate::default();
        files.iter().for_each(|(file, text)| all.add(Path::new(file), &syn::parse_file(text).unwrap()));
        all.circles().iter().map(|circle| circle.iter().map(|file| file.display().to_string()).collect()).collect()
    }

    #[test]
    fn files_that_import_each_other_are_found_also_through_what_another_passes_on() {
        let root = ("lib.rs", "mod a; mod b; mod c; pub use c::C;");
        let a = ("a.rs", "use crate::b::B; pub struct A;");
        assert_eq!(circles(&[root, a, ("b.rs", "use crate::a::A; pub struct B;")]), [["a.rs", "b.rs"]]);
        assert_eq!(circles(&[root, a, ("b.rs", "pub struct B;")]), Vec::<Vec<String>>::new());
        let b = ("b.rs", "use crate::C; pub struct B;");
        assert_eq!(
            circles(&[root, a, b, ("c.rs", "fn f() { crate::a::A; } pub struct C;")]),
            [["a.rs", "b.rs", "c.rs"]]
        );
        let test = ("b.rs", "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }");
        assert_eq!(circles(&[root, a, test]), Vec::<Vec<String>>::new());
    }

    #[test]
    fn a_folder_and_what_is_in_it_may_be_a_circle_too() {
        let mixed = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod b; pub struct A; fn f() { b::g() }"),
            ("a/b.rs", "use super::A; pub fn g() {}"),
        ];
        assert_eq!(circles(&mixed), [["a/mod.rs", "a/b.rs"]]);
    }
}
