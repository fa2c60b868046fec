//! Code that is compiled only for tests: where it is in a file, and which files are.

use proc_macro2::LineColumn;
use std::mem;
use std::ops::Range;
use std::path::PathBuf;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, File, Item, Meta, Stmt, Token};

/// Returns true if an attribute limits an item, field or statement to tests.
pub fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(limits_to_tests)
}

/// `#[test]`, `#[tokio::test]`, and every `#[cfg]` that is false outside tests, whatever else is set.
fn limits_to_tests(attribute: &Attribute) -> bool {
    if attribute.path().is_ident("cfg") {
        return attribute.parse_args::<Meta>().is_ok_and(|predicate| outside_tests(&predicate) == Some(false));
    }
    attribute.path().segments.last().is_some_and(|last| last.ident == "test")
}

/// The value of a predicate where `test` is not set; `None` if it depends on something else.
fn outside_tests(predicate: &Meta) -> Option<bool> {
    let list = match predicate {
        Meta::Path(path) if path.is_ident("test") => return Some(false),
        Meta::List(list) => list,
        _ => return None,
    };
    let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok()?;
    let values: Vec<Option<bool>> = parts.iter().map(outside_tests).collect();
    // One such part decides; without one, all parts together have the other value, if each is known.
    let decided_by = |one: bool| {
        let is_decided = values.contains(&Some(one));
        let is_known = values.iter().all(Option::is_some);
        if is_decided { Some(one) } else { is_known.then_some(!one) }
    };
    match list.path.get_ident()?.to_string().as_str() {
        "all" => decided_by(false),
        "any" => decided_by(true),
        "not" => values.first().copied().flatten().map(|value| !value),
        _ => None,
    }
}

/// The parts of a file that are compiled only for tests.
#[derive(Default)]
pub struct TestParts {
    /// The text of each part, with its attributes. None is inside another.
    spans: Vec<Range<LineColumn>>,
    /// The modules that are compiled only for tests, as paths without extension, relative to the folder of the file's modules.
    pub modules: Vec<PathBuf>,
    /// True if the complete file is compiled only for tests.
    pub is_whole: bool,
    /// The inline modules around what is visited.
    inline: PathBuf,
    /// True if an attribute of the visited item limits it to tests.
    is_marked: bool,
}

impl TestParts {
    /// Finds the parts of a file. Attributes in the body of a macro are not read.
    pub fn of(file: &File) -> TestParts {
        let mut parts = TestParts { is_whole: is_test_only(&file.attrs), ..TestParts::default() };
        parts.visit_file(file);
        parts
    }

    /// Returns true if a position is in one of the parts.
    pub fn contains(&self, at: LineColumn) -> bool {
        self.is_whole || self.spans.iter().any(|span| span.contains(&at))
    }

    /// Visits a part; if one of its own attributes limits it to tests, records it instead of those within it.
    fn part(&mut self, part: &impl Spanned, visit: impl FnOnce(&mut Self)) -> bool {
        let (around, before) = (mem::replace(&mut self.is_marked, false), self.spans.len());
        visit(self);
        let is_marked = mem::replace(&mut self.is_marked, around);
        if is_marked {
            self.replace(before, part);
        }
        is_marked
    }

    fn replace(&mut self, before: usize, part: &impl Spanned) {
        self.spans.truncate(before);
        self.spans.push(part.span().start()..part.span().end());
    }
}

macro_rules! parts {
    ($($visit:ident: $part:ident),* $(,)?) => {
        $(fn $visit(&mut self, part: &'a syn::$part) {
            self.part(part, |parts| visit::$visit(parts, part));
        })*
    };
}

impl<'a> Visit<'a> for TestParts {
    fn visit_attribute(&mut self, attribute: &'a Attribute) {
        self.is_marked |= limits_to_tests(attribute);
    }

    fn visit_item(&mut self, item: &'a Item) {
        let around = self.inline.clone();
        if let Item::Mod(module) = item {
            self.inline.push(module.ident.to_string());
        }
        let is_marked = self.part(item, |parts| visit::visit_item(parts, item));
        let within = mem::replace(&mut self.inline, around);
        if is_marked && matches!(item, Item::Mod(_)) {
            self.modules.push(within);
        }
    }

    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let before = self.spans.len();
        self.part(statement, |parts| visit::visit_stmt(parts, statement));
        // `syn` attaches the attribute of `a = b;` to `a`; the compiler applies it to the statement.
        if self.spans.get(before).is_some_and(|first| first.start == statement.span().start()) {
            self.replace(before, statement);
        }
    }

    parts! {
        visit_arm: Arm,
        visit_expr: Expr,
        visit_field: Field,
        visit_field_pat: FieldPat,
        visit_field_value: FieldValue,
        visit_fn_arg: FnArg,
        visit_foreign_item: ForeignItem,
        visit_generic_param: GenericParam,
        visit_impl_item: ImplItem,
        visit_trait_item: TraitItem,
        visit_variant: Variant,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_for_tests_if_it_is_false_outside_them() {
        let is_for_tests = |attribute: &str| {
            let item: syn::ItemFn = syn::parse_str(&format!("{attribute} fn f() {{}}")).unwrap();
            is_test_only(&item.attrs)
        };
        for yes in [
            "#[test]",
            "#[tokio::test]",
            "#[tokio::test(flavor = \"current_thread\")]",
            "#[cfg(test)]",
            "#[cfg(all(test, unix))]",
            "#[cfg(all(unix, test))]",
            "#[cfg(all(unix, any(test)))]",
            "#[cfg(any(test, all(test, feature = \"x\")))]",
            "#[cfg(not(not(test)))]",
            "#[cfg(not(any(not(test), unix)))]",
            "#[inline] #[cfg(test)]",
        ] {
            assert!(is_for_tests(yes), "{yes}");
        }
        for no in [
            "#[cfg(any(test, feature = \"x\"))]",
            "#[cfg(not(test))]",
            "#[cfg(all(not(test), unix))]",
            "#[cfg(any(all(test, unix), windows))]",
            "#[cfg(feature = \"test\")]",
            "#[cfg(testing)]",
            "#[cfg_attr(test, inline)]",
            "#[inline]",
        ] {
            assert!(!is_for_tests(no), "{no}");
        }
    }

    #[test]
    fn modules_for_tests_are_found_with_those_that_are_inline_around_them() {
        let parts = |text: &str| {
            let parts = TestParts::of(&syn::parse_file(text).unwrap());
            (parts.modules, parts.is_whole)
        };
        let text =
            "mod a { #[cfg(all(unix, test))] mod b; mod c; } #[cfg(test)] mod d { mod e; } #[cfg(not(test))] mod f;";
        assert_eq!(parts(text), (vec!["a/b".into(), "d".into()], false));
        assert_eq!(parts("//! Tests.\n#![cfg(test)]\nmod a;"), (vec![], true));
    }
}
