//! What a signature and a name say: no tuple stands for a type without a name, and one word of a crate names one type.

use crate::test_only::is_test_only;
use std::collections::BTreeMap;
use syn::visit::{self, Visit};
use syn::{File, FnArg, Item, Signature, Type, UseTree, Visibility};

/// Functions outside tests that take a tuple, by name.
pub fn tuples(file: &File) -> Vec<String> {
    let mut seen = Signatures(Vec::new());
    seen.visit_file(file);
    seen.0
}

struct Signatures(Vec<String>);

impl<'a> Visit<'a> for Signatures {
    fn visit_item(&mut self, item: &'a Item) {
        if !matches!(item, Item::Mod(module) if is_test_only(&module.attrs)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_signature(&mut self, signature: &'a Signature) {
        let is_tuple = |input: &FnArg| matches!(input, FnArg::Typed(typed) if is_tuple(&typed.ty));
        if signature.inputs.iter().any(is_tuple) {
            self.0.push(signature.ident.to_string());
        }
    }
}

fn is_tuple(of: &Type) -> bool {
    match of {
        Type::Reference(reference) => is_tuple(&reference.elem),
        Type::Tuple(tuple) => !tuple.elems.is_empty(),
        _ => false,
    }
}

/// The public types of a crate, with the files that each name stands in.
#[derive(Default)]
pub struct Names(BTreeMap<String, Vec<String>>);

impl Names {
    /// Adds a file.
    pub fn add(&mut self, name: &str, file: &File) {
        for item in &file.items {
            let (visibility, ident) = match item {
                Item::Struct(item) => (&item.vis, &item.ident),
                Item::Enum(item) => (&item.vis, &item.ident),
                Item::Trait(item) => (&item.vis, &item.ident),
                Item::Type(item) => (&item.vis, &item.ident),
                _ => continue,
            };
            if matches!(visibility, Visibility::Public(_)) {
                self.0.entry(ident.to_string()).or_default().push(name.into());
            }
        }
    }

    /// Names of several types, each with its files.
    pub fn repeated(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.0.iter().filter(|(_, files)| files.len() > 1).map(|(name, files)| (name.as_str(), files.as_slice()))
    }
}

/// Own types that a file has to import under another name, since two crates call two things alike: `Log as StoreLog`.
pub fn renamed(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    for item in &file.items {
        let Item::Use(item) = item else { continue };
        let UseTree::Path(path) = &item.tree else { continue };
        let is_own = path.ident == "crate" || path.ident == "super" || path.ident.to_string().starts_with("mainpath");
        if is_own && matches!(item.vis, Visibility::Inherited) {
            renames(&path.tree, &mut found);
        }
    }
    found
}

fn renames(tree: &UseTree, found: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => renames(&path.tree, found),
        UseTree::Group(group) => group.items.iter().for_each(|tree| renames(tree, found)),
        UseTree::Rename(rename) if rename.rename != "_" && rename.ident.to_string().starts_with(char::is_uppercase) => {
            found.push(format!("{} as {}", rename.ident, rename.rename));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> File {
        syn::parse_file(text).unwrap()
    }

    #[test]
    fn a_tuple_is_found_in_functions_methods_and_traits_and_not_in_tests() {
        let file = parsed(
            "fn a((x, y): (u8, u8)) {} fn b(x: &(u8, u8)) {} fn c(f: &(dyn Fn() + Send), u: (), g: fn((u8, u8))) {}
             impl S { fn d(&self, x: (u8,)) {} } trait T { fn e(x: (u8, u8)); fn f() -> (u8, u8); }
             #[cfg(test)] mod tests { fn g(x: (u8, u8)) {} }",
        );
        assert_eq!(tuples(&file), ["a", "b", "d", "e"]);
    }

    #[test]
    fn a_name_of_two_public_types_is_found() {
        let mut names = Names::default();
        names.add("a.rs", &parsed("pub struct One; struct Two; pub(crate) enum Three {} pub trait Four {}"));
        names.add("b.rs", &parsed("pub enum One {} pub struct Two; pub type Three = u8; pub fn four() {}"));
        assert_eq!(names.repeated().collect::<Vec<_>>(), [("One", &["a.rs".to_string(), "b.rs".into()][..])]);
    }

    #[test]
    fn a_type_under_another_name_is_found_and_a_trait_without_one_is_not() {
        let file = parsed(
            "use crate::a::{Log as StoreLog, fmt::Write as _, b as c}; use std::fmt::Result as Done; pub use mainpath_x::Entry as Server;",
        );
        assert_eq!(renamed(&file), ["Log as StoreLog"]);
    }
}
