//! The modules of crates, and what a path in one of them leads to, through imports, re-exports and globs.

use crate::manifests::Package;
use crate::test_only::TestParts;
use proc_macro2::LineColumn;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::{File, Item, Type, UseTree, Visibility};

/// A path, one name a step. The first step of `::a::b` is empty.
pub type Steps = Vec<String>;

/// The parsed files of a tree, by their path from its root.
pub type Files = BTreeMap<PathBuf, File>;

/// Where a path leads to: a module, or an item of it. A crate is its root module.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// The crate, as code names it: `mainpath_core`.
    pub of: String,
    /// The module, from the root of the crate.
    pub module: Steps,
    /// The item, if it is not the module.
    pub item: Option<String>,
}

impl Place {
    fn root(of: &str) -> Place {
        Place { of: of.into(), module: Vec::new(), item: None }
    }

    fn module(&self, name: &str) -> Place {
        Place { module: [self.module.as_slice(), &[name.into()]].concat(), ..self.clone() }
    }

    fn item(&self, name: &str) -> Place {
        Place { item: Some(name.into()), ..self.clone() }
    }
}

/// The names of a module or of a block.
#[derive(Default)]
pub struct Scope {
    named: BTreeMap<String, Vec<Name>>,
    globs: Vec<Name>,
}

struct Name {
    is_public: bool,
    what: What,
}

enum What {
    Item,
    Module,
    Import(Steps),
}

impl Scope {
    fn add(&mut self, name: impl ToString, visibility: &Visibility, what: What) {
        let is_public = matches!(visibility, Visibility::Public(_));
        self.named.entry(name.to_string()).or_default().push(Name { is_public, what });
    }

    /// Adds what an item defines or imports. Modules are not added.
    pub fn add_item(&mut self, item: &Item) {
        let (visibility, name) = match item {
            Item::Use(item) => return self.import(item),
            Item::ExternCrate(item) => {
                let name = item.rename.as_ref().map_or(&item.ident, |(_, name)| name);
                return self.add(name, &item.vis, What::Import(vec![String::new(), item.ident.to_string()]));
            }
            // Another name of one type is a re-export of it.
            Item::Type(item) => {
                if let Type::Path(path) = &*item.ty {
                    self.add(&item.ident, &item.vis, What::Import(steps(&path.path)));
                }
                (&item.vis, &item.ident)
            }
            Item::Struct(item) => (&item.vis, &item.ident),
            Item::Enum(item) => (&item.vis, &item.ident),
            Item::Union(item) => (&item.vis, &item.ident),
            Item::Trait(item) => (&item.vis, &item.ident),
            Item::TraitAlias(item) => (&item.vis, &item.ident),
            Item::Fn(item) => (&item.vis, &item.sig.ident),
            Item::Const(item) => (&item.vis, &item.ident),
            Item::Static(item) => (&item.vis, &item.ident),
            _ => return,
        };
        self.add(name, visibility, What::Item);
    }

    /// Adds the names of an import.
    pub fn import(&mut self, item: &syn::ItemUse) {
        for leaf in leaves(item) {
            match leaf.name {
                Some(name) => self.add(name, &item.vis, What::Import(leaf.path)),
                None => {
                    let is_public = matches!(item.vis, Visibility::Public(_));
                    self.globs.push(Name { is_public, what: What::Import(leaf.path) });
                }
            }
        }
    }
}

/// One path of an import.
pub struct Leaf {
    /// The path; of a glob, that of the module.
    pub path: Steps,
    /// The name that it gets; `None` for a glob.
    pub name: Option<String>,
    /// Where it is in the file.
    pub at: LineColumn,
}

/// The paths of an import, without groups.
pub fn leaves(item: &syn::ItemUse) -> Vec<Leaf> {
    let mut found = Vec::new();
    let first = if item.leading_colon.is_some() { vec![String::new()] } else { Vec::new() };
    add_leaves(&item.tree, &first, &mut found);
    found
}

fn add_leaves(tree: &UseTree, before: &[String], found: &mut Vec<Leaf>) {
    let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
    let (path, name, at) = match tree {
        UseTree::Path(path) => return add_leaves(&path.tree, &with(&path.ident), found),
        UseTree::Group(group) => return group.items.iter().for_each(|tree| add_leaves(tree, before, found)),
        UseTree::Glob(glob) => (before.to_vec(), None, glob.span().start()),
        UseTree::Name(one) => (with(&one.ident), Some(&one.ident), one.ident.span().start()),
        UseTree::Rename(one) => (with(&one.ident), Some(&one.rename), one.ident.span().start()),
    };
    // `a::{self}` is `a`.
    let path = if path.last().is_some_and(|last| last == "self") { before.to_vec() } else { path };
    let own =
        |name: &syn::Ident| if name == "self" { path.last().cloned().unwrap_or_default() } else { name.to_string() };
    found.push(Leaf { name: name.map(own), at, path });
}

/// The steps of a path in code.
pub fn steps(path: &syn::Path) -> Steps {
    let first = path.leading_colon.as_ref().map(|_| String::new());
    first.into_iter().chain(path.segments.iter().map(|segment| segment.ident.to_string())).collect()
}

/// The crates that are read, as code names them.
#[derive(Default)]
pub struct Crates(BTreeMap<String, Crate>);

#[derive(Default)]
struct Crate {
    /// The dependencies: the name in the code, and the crate.
    externs: BTreeMap<String, String>,
    modules: BTreeMap<Steps, Scope>,
    files: Vec<(PathBuf, Steps)>,
}

/// The name of a package in code.
pub fn in_code(package: &str) -> String {
    package.replace('-', "_")
}

impl Crates {
    /// Adds a package with its modules outside tests.
    pub fn add(&mut self, package: &Package, files: &Files) {
        let externs = package.needs.iter().map(|(key, package)| (key.clone(), in_code(package)));
        let mut whole = Crate { externs: externs.collect(), ..Crate::default() };
        let source = Path::new(&package.folder).join("src");
        let mut left: BTreeMap<&Path, &File> = files
            .iter()
            .filter(|(file, _)| file.starts_with(&source))
            .map(|(file, parsed)| (file.as_path(), parsed))
            .collect();
        // A file to which no declaration leads is the root of a program, or is taken for one.
        let roots = [source.join("lib.rs"), source.join("main.rs")];
        let others: Vec<PathBuf> = left.keys().map(|file| file.to_path_buf()).collect();
        let programs = others.iter().filter(|file| file.starts_with(source.join("bin")));
        for file in roots.iter().chain(programs).chain(&others) {
            let folder = file.parent().unwrap_or(Path::new(""));
            Reader { whole: &mut whole, left: &mut left }.file(file, folder, Vec::new());
        }
        self.0.insert(in_code(&package.name), whole);
    }

    /// The files of a crate that are not only for tests, with their modules.
    pub fn files(&self, of: &str) -> &[(PathBuf, Steps)] {
        self.0.get(of).map_or(&[], |found| &found.files)
    }

    /// Where a path leads to from a module, and from the blocks in it that are around the path.
    pub fn resolve(&self, from: &Place, blocks: &[Scope], path: &[String]) -> BTreeSet<Place> {
        Search { crates: self, open: Vec::new() }.path(from, blocks, path)
    }

    /// Where a name leads to that only a glob imports.
    pub fn resolve_by_glob(&self, from: &Place, blocks: &[Scope], name: &str) -> BTreeSet<Place> {
        let mut search = Search { crates: self, open: Vec::new() };
        for (index, names) in blocks.iter().enumerate().rev().chain(self.names(from).map(|names| (usize::MAX, names))) {
            if names.named.contains_key(name) {
                break;
            }
            let around = &blocks[..index.min(blocks.len())];
            let found = search.globs(from, around, names, name, true);
            if !found.is_empty() {
                return found;
            }
        }
        BTreeSet::new()
    }

    fn names(&self, module: &Place) -> Option<&Scope> {
        self.0.get(&module.of)?.modules.get(&module.module)
    }

    /// The shortest path by which other crates can name each public item of a crate, from its root.
    pub fn public_names(&self, of: &str) -> BTreeMap<Place, String> {
        let mut found = BTreeMap::new();
        let (mut open, mut seen) = (VecDeque::from([(Place::root(of), String::new())]), BTreeSet::new());
        while let Some((module, before)) = open.pop_front() {
            if !seen.insert(module.clone()) {
                continue;
            }
            for name in self.public(&module, &mut BTreeSet::new()) {
                let path = if before.is_empty() { name.clone() } else { format!("{before}::{name}") };
                for place in (Search { crates: self, open: Vec::new() }).name(&module, &name, false) {
                    if place.of != of {
                        continue;
                    } else if place.item.is_some() {
                        found.entry(place).or_insert_with(|| path.clone());
                    } else {
                        open.push_back((place, path.clone()));
                    }
                }
            }
        }
        found
    }

    /// The public names of a module, also those that it has by globs.
    fn public(&self, module: &Place, seen: &mut BTreeSet<Place>) -> BTreeSet<String> {
        let Some(names) = self.names(module).filter(|_| seen.insert(module.clone())) else { return BTreeSet::new() };
        let own = names.named.iter().filter(|(_, all)| all.iter().any(|one| one.is_public));
        let mut public: BTreeSet<String> = own.map(|(name, _)| name.clone()).collect();
        for glob in names.globs.iter().filter(|glob| glob.is_public) {
            let What::Import(path) = &glob.what else { continue };
            for target in self.resolve(module, &[], path) {
                public.extend(self.public(&target, seen));
            }
        }
        public
    }
}

/// Reads the modules of a crate, each file once.
struct Reader<'a, 'f> {
    whole: &'a mut Crate,
    left: &'a mut BTreeMap<&'f Path, &'f File>,
}

impl Reader<'_, '_> {
    fn file(&mut self, file: &Path, folder: &Path, module: Steps) {
        let Some(parsed) = self.left.remove(file) else { return };
        let tests = TestParts::of(parsed);
        if tests.is_whole {
            return;
        }
        self.whole.files.push((file.into(), module.clone()));
        self.items(&parsed.items, file, folder, module, &tests);
    }

    fn items(&mut self, items: &[Item], file: &Path, folder: &Path, module: Steps, tests: &TestParts) {
        self.whole.modules.entry(module.clone()).or_default();
        for item in items {
            let is_for_tests = tests.contains(item.span().start());
            match item {
                Item::Mod(inner) => {
                    let name = inner.ident.to_string();
                    let path = [module.as_slice(), std::slice::from_ref(&name)].concat();
                    let below = folder.join(&name);
                    match &inner.content {
                        Some(_) if is_for_tests => self.left.retain(|other, _| !other.starts_with(&below)),
                        Some((_, items)) => self.items(items, file, &below, path, tests),
                        None => self.declared(inner, file, folder, path, is_for_tests),
                    }
                    if !is_for_tests {
                        self.names(&module).add(name, &inner.vis, What::Module);
                    }
                }
                _ if is_for_tests => {}
                Item::Macro(syn::ItemMacro { ident: Some(name), attrs, .. }) => {
                    let is_exported = attrs.iter().any(|one| one.path().is_ident("macro_export"));
                    if is_exported {
                        self.names(&Vec::new()).add(name, &Visibility::Public(Default::default()), What::Item);
                    } else {
                        self.names(&module).add(name, &Visibility::Inherited, What::Item);
                    }
                }
                _ => self.names(&module).add_item(item),
            }
        }
    }

    fn names(&mut self, module: &Steps) -> &mut Scope {
        self.whole.modules.entry(module.clone()).or_default()
    }

    /// The file of `mod name;`.
    fn declared(&mut self, inner: &syn::ItemMod, file: &Path, folder: &Path, module: Steps, is_for_tests: bool) {
        let name = inner.ident.to_string();
        let below = folder.join(&name);
        let (at, below) = match inner.attrs.iter().find_map(path_of) {
            Some(path) => {
                let at = file.parent().unwrap_or(Path::new("")).join(path);
                let folder = at.parent().unwrap_or(Path::new("")).to_path_buf();
                (at, folder)
            }
            None if self.left.contains_key(below.join("mod.rs").as_path()) => (below.join("mod.rs"), below),
            None => (below.with_extension("rs"), below),
        };
        if is_for_tests {
            self.left.retain(|other, _| *other != at && !other.starts_with(folder.join(&name)));
        } else {
            self.file(&at, &below, module);
        }
    }
}

/// The value of `#[path = "…"]`.
fn path_of(attribute: &syn::Attribute) -> Option<String> {
    let value = &attribute.meta.require_name_value().ok().filter(|pair| pair.path.is_ident("path"))?.value;
    match value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

/// One search. An import that leads to itself is followed once.
struct Search<'a> {
    crates: &'a Crates,
    open: Vec<(*const Name, String)>,
}

impl Search<'_> {
    fn path(&mut self, from: &Place, blocks: &[Scope], path: &[String]) -> BTreeSet<Place> {
        let Some((first, mut rest)) = path.split_first() else { return BTreeSet::new() };
        let here = Place { item: None, ..from.clone() };
        let mut places = match first.as_str() {
            "" => {
                let named = rest.first().and_then(|name| self.external(&here, name));
                rest = rest.get(1..).unwrap_or_default();
                named.into_iter().collect()
            }
            "crate" => BTreeSet::from([Place::root(&here.of)]),
            "self" => BTreeSet::from([here]),
            "super" => {
                let (_, above) = here.module.split_last().unwrap_or((first, &[]));
                BTreeSet::from([Place { module: above.to_vec(), ..here.clone() }])
            }
            name => self.first(&here, blocks, name),
        };
        for step in rest {
            // Only a function or a macro has the name of a module, and neither has names of its own.
            let has_module = places.iter().any(|place| place.item.is_none());
            let parents = places.iter().filter(|place| place.item.is_none() || !has_module);
            places = parents.flat_map(|place| self.step(from, place, step)).collect();
        }
        places
    }

    fn step(&mut self, from: &Place, place: &Place, step: &str) -> BTreeSet<Place> {
        if place.item.is_some() {
            return BTreeSet::from([place.clone()]);
        }
        if step == "super" {
            let (_, above) = place.module.split_last().unwrap_or((&place.of, &[]));
            return BTreeSet::from([Place { module: above.to_vec(), ..place.clone() }]);
        }
        let found = self.name(place, step, from.of == place.of);
        // A macro may define it: it is then taken for an item of the module.
        if found.is_empty() { BTreeSet::from([place.item(step)]) } else { found }
    }

    /// The first name of a path: of the blocks, the module or a dependency.
    fn first(&mut self, here: &Place, blocks: &[Scope], name: &str) -> BTreeSet<Place> {
        for (index, names) in blocks.iter().enumerate().rev() {
            let found = self.within(here, &blocks[..=index], names, name, true);
            if !found.is_empty() {
                return found;
            }
        }
        let found = self.name(here, name, true);
        if found.is_empty() { self.external(here, name).into_iter().collect() } else { found }
    }

    fn external(&self, here: &Place, name: &str) -> Option<Place> {
        let of = self.crates.0.get(&here.of)?.externs.get(name)?;
        self.crates.0.contains_key(of).then(|| Place::root(of))
    }

    /// A name of a module, as its own crate sees it or as others do.
    fn name(&mut self, module: &Place, name: &str, is_own: bool) -> BTreeSet<Place> {
        let crates = self.crates;
        crates.names(module).map(|names| self.within(module, &[], names, name, is_own)).unwrap_or_default()
    }

    fn within(&mut self, module: &Place, blocks: &[Scope], names: &Scope, name: &str, is_own: bool) -> BTreeSet<Place> {
        let mut found = BTreeSet::new();
        for one in names.named.get(name).into_iter().flatten().filter(|one| is_own || one.is_public) {
            match &one.what {
                What::Item => found.extend([module.item(name)]),
                What::Module => found.extend([module.module(name)]),
                What::Import(path) => found.extend(self.once(one, name, |search| search.path(module, blocks, path))),
            }
        }
        if found.is_empty() { self.globs(module, blocks, names, name, is_own) } else { found }
    }

    fn globs(&mut self, module: &Place, blocks: &[Scope], names: &Scope, name: &str, is_own: bool) -> BTreeSet<Place> {
        let mut found = BTreeSet::new();
        for glob in names.globs.iter().filter(|glob| is_own || glob.is_public) {
            let What::Import(path) = &glob.what else { continue };
            found.extend(self.once(glob, name, |search| {
                let targets = search.path(module, blocks, path).into_iter().filter(|target| target.item.is_none());
                targets.flat_map(|target| search.name(&target, name, target.of == module.of)).collect()
            }));
        }
        found
    }

    fn once(
        &mut self,
        name: &Name,
        wanted: &str,
        search: impl FnOnce(&mut Self) -> BTreeSet<Place>,
    ) -> BTreeSet<Place> {
        let key = (std::ptr::from_ref(name), wanted.to_string());
        if self.open.contains(&key) {
            return BTreeSet::new();
        }
        self.open.push(key);
        let found = search(self);
        self.open.pop();
        found
    }
}
