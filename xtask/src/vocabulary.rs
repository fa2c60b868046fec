//! The rule of faces: of the crates that the host library is made of, they name only what `xtask/vocabulary.toml` lists.

use crate::layers::faces;
use crate::manifests::{Package, short};
use crate::modules::{Crates, Files, in_code};
use crate::uses::{Use, uses};
use std::collections::{BTreeMap, BTreeSet};

/// The file of the list, from the root of the tree.
pub const FILE: &str = "xtask/vocabulary.toml";

/// The crates whose items the list has.
const INNER: [&str; 3] = ["mainpath-core", "mainpath-runtime", "mainpath-store"];

/// The sections of the list: what faces may use for good, and what they still use.
const SECTIONS: [&str; 2] = ["vocabulary", "to-remove"];

/// The items of inner crates that the faces use.
pub struct FaceUses {
    /// The uses of each face, each with the path of what is used: `core::State`.
    by_face: BTreeMap<String, Vec<(String, Use)>>,
}

impl FaceUses {
    /// Reads the faces, the inner crates, and what is between them.
    pub fn read(packages: &[Package], files: &Files) -> FaceUses {
        let mut crates = Crates::default();
        for package in packages.iter().filter(|package| reaches_inner(packages, package)) {
            crates.add(package, files);
        }
        let inner = INNER.map(in_code);
        let public: BTreeMap<_, _> = inner.iter().flat_map(|of| crates.public_names(of)).collect();
        let name = |used: &Use| {
            let place = &used.place;
            let within = || [place.module.as_slice(), place.item.as_slice()].concat().join("::");
            let of = short(&place.of.replace('_', "-")).to_string();
            format!("{of}::{}", public.get(place).cloned().unwrap_or_else(within))
        };
        let of_face = |face: &Package| {
            let found = uses(&crates, &in_code(&face.name), files, &inner);
            (face.short().to_string(), found.into_iter().map(|used| (name(&used), used)).collect())
        };
        FaceUses { by_face: faces(packages).map(of_face).collect() }
    }

    /// The uses that the list, whose text is `written`, does not have, and its entries that no face uses.
    pub fn problems(&self, written: &str) -> Vec<String> {
        let list = match List::read(written) {
            Ok(list) => list,
            Err(problems) => return problems,
        };
        let mut problems = Vec::new();
        let all = || self.by_face.values().flatten();
        for (name, used) in all().filter(|(name, _)| name.ends_with('*') || !list.entries.contains_key(name)) {
            let file = used.file.display();
            let instead = if name.ends_with('*') { "name what is used" } else { "use mainpath instead" };
            problems.push(format!("{file}:{} uses {name}, which is not in {FILE}: {instead}", used.line));
        }
        let used: BTreeSet<&String> = all().map(|(name, _)| name).collect();
        for (name, entry) in list.entries.iter().filter(|(name, _)| !used.contains(name)) {
            problems.push(format!("{FILE}:{} lists {name}, which no face uses any more: delete this line", entry.line));
        }
        problems
    }

    /// A line for each face: how often it names something of the inner crates, and how much of that is to be removed.
    pub fn counts(&self, written: &str) -> Vec<String> {
        let list = List::read(written).unwrap_or_default();
        let is_kept = |name: &String| list.entries.get(name).is_some_and(|entry| entry.is_kept);
        let count = |(face, uses): (&String, &Vec<(String, Use)>)| {
            let items: BTreeSet<&String> = uses.iter().map(|(name, _)| name).collect();
            let left = items.iter().filter(|name| !is_kept(name)).count();
            let left_uses = uses.iter().filter(|(name, _)| !is_kept(name)).count();
            format!(
                "{face} uses {} items of core, runtime and store in {} places; {left} items in {left_uses} places are to be removed",
                items.len(),
                uses.len(),
            )
        };
        self.by_face.iter().map(count).collect()
    }
}

/// Returns true if a package is an inner crate or depends on one, directly or not.
fn reaches_inner(packages: &[Package], package: &Package) -> bool {
    let needed = |name: &String| packages.iter().find(|package| package.name == *name);
    INNER.contains(&package.name.as_str())
        || package.needs.values().filter_map(needed).any(|needed| reaches_inner(packages, needed))
}

/// The list.
#[derive(Default)]
struct List {
    entries: BTreeMap<String, Entry>,
}

struct Entry {
    line: usize,
    /// True for vocabulary, false for an entry to remove.
    is_kept: bool,
}

impl List {
    fn read(text: &str) -> Result<List, Vec<String>> {
        type Sections = BTreeMap<String, BTreeMap<String, BTreeMap<String, toml::Spanned<String>>>>;
        let bad = |error: toml::de::Error| vec![format!("{FILE} cannot be read: {}", error.message())];
        let sections: Sections = toml::from_str(text).map_err(bad)?;
        let (mut list, mut problems) = (List::default(), Vec::new());
        for (section, crates) in sections {
            if !SECTIONS.contains(&section.as_str()) {
                problems.push(format!("{FILE} has a section {section}; there are: {}", SECTIONS.join(", ")));
            }
            for (of, items) in crates {
                if !INNER.iter().any(|inner| short(inner) == of) {
                    problems.push(format!("{FILE} lists items of {of}, which needs no list"));
                }
                for (item, reason) in items {
                    let line = text.get(..reason.span().start).unwrap_or_default().lines().count();
                    if reason.get_ref().trim().is_empty() {
                        problems.push(format!("{FILE}:{line} gives no reason for {of}::{item}"));
                    }
                    let entry = Entry { line, is_kept: section == SECTIONS[0] };
                    if let Some(other) = list.entries.insert(format!("{of}::{item}"), entry) {
                        problems.push(format!("{FILE}:{line} lists {of}::{item} again, as line {} does", other.line));
                    }
                }
            }
        }
        if problems.is_empty() { Ok(list) } else { Err(problems) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml::Table;

    /// The inner crates and the host library of the tests.
    const BELOW: [(&str, &str); 9] = [
        ("core/src/lib.rs", "mod pending; pub use pending::{pending, Due}; pub mod shown; pub struct State;"),
        ("core/src/pending.rs", "pub fn pending() {} pub enum Due { Now } pub struct Hidden;"),
        ("core/src/shown.rs", "pub struct Bodies; #[macro_export] macro_rules! list { () => {} }"),
        ("runtime/src/lib.rs", "mod mail; pub mod views; pub use mail::*; pub use mainpath_core::shown::Bodies as Texts;"),
        ("runtime/src/mail.rs", "pub struct Mail; pub trait Post { fn post(); }"),
        ("runtime/src/views.rs", "pub use mainpath_core::pending; pub fn task() {} made_by_a_macro!();"),
        ("store/src/lib.rs", "pub mod log { pub fn read() {} }"),
        (
            "mainpath/src/lib.rs",
            "pub mod trace; pub mod prelude; mod inner; pub use inner::all; pub use mainpath_core as core;
             pub use {mainpath_runtime as runtime, mainpath_store as store}; pub struct Host; pub type Letter = runtime::Mail;",
        ),
        ("mainpath/src/trace/mod.rs", "pub use mainpath_runtime::Mail as Post; pub use crate::prelude::*; pub struct Trace;"),
    ];

    /// The items that a file of the command uses, with their lines.
    fn used(text: &str) -> Vec<(usize, String)> {
        let found = face_uses(&[("cli/src/main.rs", "mod a; fn main() {}"), ("cli/src/a.rs", text)]);
        found.by_face["cli"].iter().map(|(name, used)| (used.line, name.clone())).collect()
    }

    fn face_uses(face: &[(&str, &str)]) -> FaceUses {
        let more = [
            ("mainpath/src/prelude.rs", "pub use mainpath_core::{State, shown};"),
            ("mainpath/src/inner.rs", "pub mod all { pub use mainpath_store::*; }"),
        ];
        let files = BELOW.iter().chain(&more).chain(face);
        let files =
            files.map(|(file, text)| (format!("crates/{file}").into(), syn::parse_file(text).unwrap())).collect();
        let manifest = |(name, needs): (&str, &[&str])| {
            let needs: String = needs.iter().map(|needed| format!("{needed} = '1'\n")).collect();
            let text = format!("[package]\nname = '{name}'\n[dependencies]\n{needs}");
            let folder = format!("crates/{}", short(name));
            Package::read(&folder, &text, &Table::new()).unwrap()
        };
        let packages: [(&str, &[&str]); 5] = [
            ("mainpath-core", &[]),
            ("mainpath-store", &[]),
            ("mainpath-runtime", &["mainpath-core"]),
            ("mainpath", &["mainpath-core", "mainpath-runtime", "mainpath-store"]),
            ("mainpath-cli", &["mainpath"]),
        ];
        FaceUses::read(&packages.map(manifest), &files)
    }

    fn names(text: &str) -> Vec<String> {
        used(text).into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn imports_are_resolved_in_groups_under_other_names_and_by_globs() {
        assert_eq!(names("use mainpath::runtime::Mail;"), ["runtime::Mail"]);
        let grouped =
            "use mainpath::{\n    Host,\n    runtime::{Mail as Letter, views::{self, task}},\n    core::State,\n};";
        let expected = [(3, "runtime::Mail".into()), (3, "runtime::views::task".into()), (4, "core::State".into())];
        assert_eq!(used(grouped), expected);
        assert_eq!(names("use mainpath as m; use m::runtime as r; fn f(_: r::Mail) {}"), ["runtime::Mail"]);
        assert_eq!(names("extern crate mainpath as m; fn f(_: m::runtime::Mail) {}"), ["runtime::Mail"]);
        assert_eq!(
            names("use mainpath::runtime; use runtime::views; fn f() { views::task() }"),
            ["runtime::views::task"]
        );
        assert_eq!(
            used("use mainpath::runtime::*;\nfn f(_: Mail) {}\nfn g(_: Host) {}"),
            [(1, "runtime::*".into()), (2, "runtime::Mail".into())]
        );
        assert_eq!(
            names("use mainpath::prelude::*; fn f(_: State, _: shown::Bodies) {}"),
            ["core::State", "core::shown::Bodies"]
        );
        assert_eq!(names("use mainpath::core::Due::*;"), ["core::Due"]);
    }

    #[test]
    fn re_exports_are_followed_to_where_the_item_is_defined() {
        for (path, expected) in [
            ("mainpath::trace::Post", "runtime::Mail"),
            ("mainpath::trace::State", "core::State"),
            ("mainpath::all::log::read", "store::log::read"),
            ("mainpath::runtime::Texts", "core::shown::Bodies"),
            ("mainpath::runtime::views::pending", "core::pending"),
            ("mainpath::core::pending", "core::pending"),
            ("mainpath::Letter", "runtime::Mail"),
            ("super::b::Own", "runtime::Mail"),
        ] {
            let found = face_uses(&[
                ("cli/src/main.rs", "mod a; mod b;"),
                ("cli/src/a.rs", &format!("use {path};")),
                ("cli/src/b.rs", "pub use mainpath::trace::Post as Own;"),
            ]);
            let of_a = found.by_face["cli"].iter().filter(|(_, used)| used.file.ends_with("a.rs"));
            assert_eq!(of_a.map(|(name, _)| name).collect::<Vec<_>>(), [expected], "{path}");
        }
        assert_eq!(
            names("use mainpath::{Host, trace::Trace}; use std::core::State; use core::State;"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn paths_are_found_in_expressions_types_patterns_attributes_and_macros() {
        for text in [
            "fn f() { let _ = mainpath::runtime::Mail::new(); }",
            "fn f() { mainpath::runtime::Mail { a: 1 }; }",
            "struct A { a: Vec<Option<mainpath::runtime::Mail>> }",
            "fn f(a: u8) { match a { mainpath::runtime::Mail::A { .. } => {} } }",
            "fn f<T: Into<::mainpath::runtime::Mail>>() {}",
            "impl From<A> for mainpath::runtime::Mail {}",
            "fn f() { <mainpath::runtime::Mail as A>::b() }",
            "fn f() { println!(\"{}\", a.b::<mainpath::runtime::Mail>(1..2)); }",
            "fn f() { assert!(matches!(a, [mainpath::runtime::Mail::A(_), ..])); }",
            "use mainpath::runtime; fn f() { vec![(1, runtime::Mail)]; }",
            "macro_rules! m { ($a:expr) => { { use mainpath::{runtime as r}; r::Mail::a($a) } }; }",
            "macro_rules! m { () => { use mainpath::runtime::{Mail as A}; }; }",
            "list! { mainpath::{runtime::Mail, Host} }",
            "pub use mainpath::runtime::Mail; macro_rules! m { () => { $crate::a::Missing }; }",
            "fn f() { mainpath::core::list!(); }",
            "#[derive(mainpath::runtime::Mail)] struct A;",
            "#[arg(value_parser = mainpath::runtime::Mail::parse)] struct A;",
            "struct A { #[serde(with = \"mainpath::runtime::Mail\")] a: u8 }",
            "fn f() { { use mainpath::runtime as r; } { use mainpath::runtime as s; s::Mail; } r::Mail; }",
            "mod b { mod c { use super::super::d::r; fn f(_: r::Mail) {} } } mod d { pub use mainpath::runtime as r; }",
        ] {
            let expected = if text.contains("list!()") { "core::list" } else { "runtime::Mail" };
            assert_eq!(names(text), [expected], "{text}");
        }
    }

    #[test]
    fn a_name_that_is_not_found_in_an_inner_crate_is_taken_for_an_item_of_it() {
        assert_eq!(names("use mainpath::runtime::views::made;"), ["runtime::views::made"]);
        assert_eq!(names("fn f() { mainpath::core::gone::further() }"), ["core::gone"]);
    }

    #[test]
    fn modules_that_re_export_each_other_are_followed_once() {
        let circle = "mod b { pub use super::c::*; pub use super::c as d; pub use mainpath::runtime::Mail; }
            mod c { pub use super::b::*; pub use super::b as e; pub use self::f as f; } use b::d::e::d::{f, Mail as Own};";
        assert_eq!(used(circle), [(1, "runtime::Mail".into()), (2, "runtime::Mail".into())]);
    }

    #[test]
    fn tests_of_a_face_may_use_everything() {
        let text = "#[cfg(all(unix, test))] mod tests { use mainpath::runtime::Mail; }
            #[cfg(test)] use mainpath::runtime::Mail as B; fn f() { #[cfg(test)] mainpath::runtime::Mail::a(); }
            #[cfg(any(test, unix))] fn g(_: mainpath::core::State) {}";
        assert_eq!(names(text), ["core::State"]);
        let found = face_uses(&[
            ("cli/src/main.rs", "#[cfg(test)] mod a; #[cfg(unix)] #[path = \"other.rs\"] mod b;"),
            ("cli/src/a/mod.rs", "mod deep; use mainpath::runtime::Mail;"),
            ("cli/src/a/deep.rs", "use mainpath::runtime::Mail;"),
            ("cli/src/other.rs", "use mainpath::core::State;"),
            ("cli/src/bin/more.rs", "fn main() { mainpath::store::log::read() }"),
        ]);
        let names: Vec<&str> = found.by_face["cli"].iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["store::log::read", "core::State"]);
    }

    #[test]
    fn a_use_that_is_not_listed_and_an_entry_that_is_not_used_are_errors() {
        let face = face_uses(&[(
            "cli/src/main.rs",
            "use mainpath::runtime::Mail;\nuse mainpath::core::*;\nfn f(_: State) {}",
        )]);
        let problems = |list: &str| face.problems(list);
        let glob = "crates/cli/src/main.rs:2 uses core::*, which is not in xtask/vocabulary.toml: name what is used";
        let listed = "[vocabulary.core]\nState = 'the state'\n[to-remove.runtime]\n# A comment.\nMail = 'still sent'\n";
        assert_eq!(problems(listed), [glob]);
        assert_eq!(
            problems("[vocabulary.core]\nState = 'the state'\n'*' = 'all'"),
            [
                "crates/cli/src/main.rs:1 uses runtime::Mail, which is not in xtask/vocabulary.toml: use mainpath instead",
                glob,
            ]
        );
        assert_eq!(
            problems(&format!("{listed}'views::task' = 'still read'\n")),
            [glob, "xtask/vocabulary.toml:6 lists runtime::views::task, which no face uses any more: delete this line"]
        );
        assert_eq!(
            face.counts(listed),
            ["cli uses 3 items of core, runtime and store in 3 places; 2 items in 2 places are to be removed"]
        );
    }

    #[test]
    fn a_list_that_is_not_clear_is_refused() {
        let problems = |list: &str| List::read(list).err().unwrap_or_default();
        assert_eq!(
            problems("[vocabulary.core]\nState = ' '\n[to-remove.core]\nState = 'a'\n[other.tools]\nTool = 'b'"),
            [
                "xtask/vocabulary.toml has a section other; there are: vocabulary, to-remove",
                "xtask/vocabulary.toml lists items of tools, which needs no list",
                "xtask/vocabulary.toml:2 gives no reason for core::State",
                "xtask/vocabulary.toml:2 lists core::State again, as line 4 does",
            ]
        );
        assert_eq!(problems("[core]\nState = 'a'").len(), 1);
    }
}
