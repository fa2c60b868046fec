//! Errors are types with a kind: no code outside tests returns a text as its error.

use crate::lines::folder_of_modules;
use crate::modules::Files;
use crate::test_only::TestParts;
use proc_macro2::LineColumn;
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Fields, GenericArgument, ItemStruct, PathArguments, Type, TypePath};

/// Functions whose error may be a text: the file and the function. All are parsers of one argument, which clap calls and whose text it
/// prints.
const PARSERS: [(&str, &str); 6] = [
    ("crates/cli/src/args/limits.rs", "tool_rate"),
    ("crates/cli/src/args/point.rs", "seq"),
    ("crates/cli/src/args/relations.rs", "pair"),
    ("crates/cli/src/commands/goal.rs", "goal_id"),
    ("crates/cli/src/commands/server.rs", "address"),
    ("crates/cli/src/commands/watch.rs", "first"),
];

/// Returns a line for each text that is an error, and for each listed function that has none.
pub fn problems(sources: &Files) -> Vec<String> {
    check(sources, &PARSERS)
}

fn check(sources: &Files, listed: &[(&str, &str)]) -> Vec<String> {
    let (mut found, mut tests) = (Vec::new(), Vec::new());
    for (path, file) in sources.iter().filter(|(path, _)| is_checked(path)) {
        let parts = TestParts::of(file);
        let modules = folder_of_modules(path);
        tests.extend(parts.modules.iter().map(|module| modules.join(module)));
        tests.extend(Some(modules).filter(|_| parts.is_whole));
        let mut texts = Texts::default();
        texts.visit_file(file);
        found.extend(texts.found.into_iter().filter(|text| !parts.contains(text.at)).map(|text| (path, text)));
    }
    let is_test =
        |path: &PathBuf| tests.iter().any(|module| path.starts_with(module) || *path == module.with_extension("rs"));
    found.retain(|(path, _)| !is_test(path));
    let is_listed =
        |path: &Path, text: &Text, entry: &(&str, &str)| path == Path::new(entry.0) && text.function == entry.1;
    let unused = listed.iter().filter(|entry| !found.iter().any(|(path, text)| is_listed(path, text, entry)));
    let unused = unused.map(|(file, function)| {
        format!("xtask/src/error_types.rs lists {function} of {file}, whose error is no text: delete the entry")
    });
    let refused = found.iter().filter(|(path, text)| !listed.iter().any(|entry| is_listed(path, text, entry)));
    let refused = refused.map(|(path, text)| format!("{}:{} {}", path.display(), text.at.line, text.problem));
    refused.chain(unused).collect()
}

/// Sources of the program. The tools of the tree print their errors and end.
fn is_checked(path: &Path) -> bool {
    path.starts_with("crates") && !path.starts_with("crates/testkit")
}

/// A text as an error.
struct Text {
    at: LineColumn,
    /// The function, empty outside one.
    function: String,
    problem: &'static str,
}

#[derive(Default)]
struct Texts {
    /// The functions around what is visited, from the outermost.
    functions: Vec<String>,
    found: Vec<Text>,
}

impl Texts {
    fn add(&mut self, at: LineColumn, problem: &'static str) {
        let function = self.functions.last().cloned().unwrap_or_default();
        self.found.push(Text { at, function, problem });
    }

    fn within(&mut self, function: &syn::Ident, visit: impl FnOnce(&mut Self)) {
        self.functions.push(function.to_string());
        visit(self);
        self.functions.pop();
    }
}

impl<'a> Visit<'a> for Texts {
    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        self.within(&function.sig.ident, |texts| visit::visit_item_fn(texts, function));
    }

    fn visit_impl_item_fn(&mut self, function: &'a syn::ImplItemFn) {
        self.within(&function.sig.ident, |texts| visit::visit_impl_item_fn(texts, function));
    }

    fn visit_trait_item_fn(&mut self, function: &'a syn::TraitItemFn) {
        self.within(&function.sig.ident, |texts| visit::visit_trait_item_fn(texts, function));
    }

    fn visit_type_path(&mut self, path: &'a TypePath) {
        if let Some(last) = path.path.segments.last()
            && last.ident == "Result"
            && let PathArguments::AngleBracketed(arguments) = &last.arguments
            && let Some(GenericArgument::Type(error)) = arguments.args.iter().nth(1)
            && is_text(error)
        {
            self.add(path.span().start(), "has a text as the error of a Result: make it a type with a kind");
        }
        visit::visit_type_path(self, path);
    }

    fn visit_item_struct(&mut self, item: &'a ItemStruct) {
        let is_error = item.attrs.iter().any(|attribute| {
            let derived = attribute.path().is_ident("derive");
            derived && matches!(&attribute.meta, syn::Meta::List(list) if list.tokens.to_string().contains("Error"))
        });
        let mut fields = match &item.fields {
            Fields::Unit => None,
            Fields::Named(fields) => Some(fields.named.iter()),
            Fields::Unnamed(fields) => Some(fields.unnamed.iter()),
        };
        let only = fields.as_mut().and_then(Iterator::next);
        let is_only = fields.is_some_and(|mut rest| rest.next().is_none());
        if is_error && is_only && only.is_some_and(|field| is_text(&field.ty)) {
            self.add(item.ident.span().start(), "is an error of which only a text is known: name its cases");
        }
        visit::visit_item_struct(self, item);
    }
}

fn is_text(of: &Type) -> bool {
    match of {
        Type::Reference(reference) => is_text(&reference.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "String" || last.ident == "str"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(files: &[(&str, &str)], listed: &[(&str, &str)]) -> Vec<String> {
        let parsed = |(path, text): &(&str, &str)| (PathBuf::from(path), syn::parse_file(text).unwrap());
        check(&files.iter().map(parsed).collect(), listed)
    }

    #[test]
    fn a_text_as_an_error_is_found_in_functions_fields_aliases_and_traits() {
        let text = "fn a() -> Result<u8, String> { todo!() }\nimpl S { async fn b() -> Option<Result<(), &'static str>> {} }\n\
                    trait T { fn c(f: &dyn Fn() -> std::result::Result<u8, std::string::String>); }\n\
                    struct D { d: Result<String, String> }\ntype E<T> = Result<T, String>;\n\
                    fn f() { let g: Result<_, String> = Ok(1); }\n\
                    fn h() -> Result<String, Error> { Ok::<String, Error>(\"\".into()) }";
        let found = checked(&[("crates/a/src/lib.rs", text)], &[]);
        let line = |number| {
            format!("crates/a/src/lib.rs:{number} has a text as the error of a Result: make it a type with a kind")
        };
        assert_eq!(found, (1..=6).map(line).collect::<Vec<_>>());
    }

    #[test]
    fn an_error_that_is_only_a_text_is_found() {
        let text = "#[derive(Debug, thiserror::Error)]\n#[error(\"{0}\")]\nstruct A(String);\n\
                    #[derive(Error)]\nstruct B { text: &'static str }\n\
                    #[derive(Error)] struct C { place: Place, text: String }\n#[derive(Debug)] struct D(String);\n\
                    #[derive(Error)] struct E; #[derive(Error)] struct F(Kind);";
        let line =
            |number| format!("crates/a/src/b.rs:{number} is an error of which only a text is known: name its cases");
        assert_eq!(checked(&[("crates/a/src/b.rs", text)], &[]), [line(3), line(5)]);
    }

    #[test]
    fn tests_and_tools_are_not_checked() {
        let text = "fn a() -> Result<u8, String> {}";
        let within = "#[cfg(test)] mod tests { fn a() -> Result<u8, String> {} } #[cfg(test)] mod apart;";
        let files = [
            ("crates/a/src/lib.rs", within),
            ("crates/a/src/apart.rs", text),
            ("crates/testkit/src/lib.rs", text),
            ("bench/src/main.rs", text),
            ("xtask/src/main.rs", text),
        ];
        assert_eq!(checked(&files, &[]), Vec::<String>::new());
    }

    #[test]
    fn a_listed_function_is_allowed_and_an_entry_without_a_use_is_an_error() {
        let text = "fn a() -> Result<u8, String> {}\nfn b() -> Result<u8, String> {}";
        let listed = [("crates/a/src/lib.rs", "a"), ("crates/a/src/lib.rs", "c")];
        assert_eq!(
            checked(&[("crates/a/src/lib.rs", text)], &listed),
            [
                "crates/a/src/lib.rs:2 has a text as the error of a Result: make it a type with a kind",
                "xtask/src/error_types.rs lists c of crates/a/src/lib.rs, whose error is no text: delete the entry",
            ]
        );
    }
}
