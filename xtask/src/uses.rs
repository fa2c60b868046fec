//! The items of other crates that the code of a crate names: in imports, expressions, types, patterns, attributes and macros.

use crate::modules::{Crates, Files, Place, Scope, Steps, leaves, steps};
use crate::test_only::TestParts;
use proc_macro2::{Delimiter, LineColumn, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::mem;
use std::path::PathBuf;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Item, ItemUse, Macro, Meta, Stmt};

/// One use of an item.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Use {
    /// The file, from the root of the tree.
    pub file: PathBuf,
    /// The line of the path.
    pub line: usize,
    /// The item that is used; `*` for a glob.
    pub place: Place,
}

/// The uses of items of some crates by another, outside its tests.
pub fn uses(crates: &Crates, of: &str, files: &Files, wanted: &[String]) -> BTreeSet<Use> {
    let mut found = BTreeSet::new();
    for (path, module) in crates.files(of) {
        let Some(file) = files.get(path) else { continue };
        let place = Place { of: of.into(), module: module.clone(), item: None };
        let mut seen = Seen { crates, wanted, place, blocks: Vec::new(), found: Vec::new() };
        seen.visit_file(file);
        let tests = TestParts::of(file);
        let outside = seen.found.into_iter().filter(|(at, _)| !tests.contains(*at));
        found.extend(outside.map(|(at, place)| Use { file: path.clone(), line: at.line, place }));
    }
    found
}

struct Seen<'a> {
    crates: &'a Crates,
    wanted: &'a [String],
    /// The module.
    place: Place,
    /// The names of the blocks around the code, from the outermost.
    blocks: Vec<Scope>,
    found: Vec<(LineColumn, Place)>,
}

impl Seen<'_> {
    /// Records what a path leads to.
    fn path(&mut self, path: &Steps, at: LineColumn) {
        let places = match path.as_slice() {
            // An import of the name is already recorded.
            [name] => self.crates.resolve_by_glob(&self.place, &self.blocks, name),
            _ => self.crates.resolve(&self.place, &self.blocks, path),
        };
        self.record(places, at);
    }

    fn record(&mut self, places: BTreeSet<Place>, at: LineColumn) {
        let wanted = places.into_iter().filter(|place| place.item.is_some() && self.wanted.contains(&place.of));
        self.found.extend(wanted.map(|place| (at, place)));
    }

    fn import(&mut self, item: &ItemUse) {
        for leaf in leaves(item) {
            let places = self.crates.resolve(&self.place, &self.blocks, &leaf.path);
            let everything = |place: Place| match place.item {
                None => Place { item: Some("*".into()), ..place },
                Some(_) => place,
            };
            let is_glob = leaf.name.is_none();
            self.record(if is_glob { places.into_iter().map(everything).collect() } else { places }, leaf.at);
        }
    }

    /// Records the paths in tokens that are not parsed.
    fn tokens(&mut self, tokens: TokenStream) {
        self.blocks.push(Scope::default());
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is =
            |at: usize, sign: char| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == sign);
        let is_separator = |at: usize| is(at, ':') && is(at + 1, ':');
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            match token {
                TokenTree::Ident(word) if word == "use" => {
                    let end = (at..tokens.len()).find(|end| is(*end, ';')).unwrap_or(tokens.len());
                    let dollars =
                        |token: &&TokenTree| !matches!(token, TokenTree::Punct(punct) if punct.as_char() == '$');
                    let import = tokens.iter().take(end + 1).skip(at).filter(dollars).cloned().collect();
                    if let Ok(import) = syn::parse2::<ItemUse>(import) {
                        self.block_import(&import);
                        at = end;
                    }
                }
                TokenTree::Ident(first) => {
                    let is_rooted = at >= 2 && is_separator(at - 2);
                    let is_field = at >= 1 && is(at - 1, '.') && !(at >= 2 && is(at - 2, '.'));
                    let mut path: Steps = if is_rooted { vec![String::new()] } else { Vec::new() };
                    path.push(first.to_string());
                    while let Some(TokenTree::Ident(next)) = tokens.get(at + 3).filter(|_| is_separator(at + 1)) {
                        path.push(next.to_string());
                        at += 3;
                    }
                    match tokens.get(at + 3).filter(|_| is_separator(at + 1)) {
                        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                            self.grouped(&path, group.stream(), first.span().start());
                        }
                        _ if is_field => {}
                        _ => self.path(&path, first.span().start()),
                    }
                }
                TokenTree::Group(group) => self.tokens(group.stream()),
                _ => {}
            }
            at += 1;
        }
        self.blocks.pop();
    }

    /// Records `a::{b, c::d}` in tokens: a list of imports that a macro completes.
    fn grouped(&mut self, before: &Steps, group: TokenStream, at: LineColumn) {
        let before = before.join("::");
        if let Ok(import) = syn::parse_str::<ItemUse>(&format!("use {before}::{{{group}}};")) {
            for leaf in leaves(&import) {
                let places = self.crates.resolve(&self.place, &self.blocks, &leaf.path);
                self.record(places, at);
            }
        }
    }

    fn block_import(&mut self, import: &ItemUse) {
        self.import(import);
        if let Some(names) = self.blocks.last_mut() {
            names.import(import);
        }
    }
}

impl<'a> Visit<'a> for Seen<'_> {
    fn visit_item(&mut self, item: &'a Item) {
        match item {
            Item::Mod(module) => {
                let (place, blocks) = (self.place.clone(), mem::take(&mut self.blocks));
                self.place.module.push(module.ident.to_string());
                visit::visit_item(self, item);
                (self.place, self.blocks) = (place, blocks);
            }
            Item::Use(import) => self.import(import),
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_block(&mut self, block: &'a Block) {
        let mut names = Scope::default();
        for statement in &block.stmts {
            if let Stmt::Item(item) = statement {
                names.add_item(item);
            }
        }
        self.blocks.push(names);
        visit::visit_block(self, block);
        self.blocks.pop();
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        self.path(&steps(path), path.span().start());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'a Macro) {
        visit::visit_macro(self, called);
        self.tokens(called.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'a Attribute) {
        visit::visit_attribute(self, attribute);
        if let Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone());
            self.texts(list.tokens.clone());
        }
    }
}

impl Seen<'_> {
    /// Records the texts in an attribute that are paths, as in `#[serde(with = "a::b")]`.
    fn texts(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.texts(group.stream()),
                TokenTree::Literal(literal) => {
                    let at = literal.span().start();
                    let text = syn::parse_str::<syn::LitStr>(&literal.to_string()).map(|text| text.value());
                    let path = text.ok().filter(|text| text.contains("::")).and_then(|text| syn::parse_str(&text).ok());
                    if let Some(path) = path {
                        self.path(&steps(&path), at);
                    }
                }
                _ => {}
            }
        }
    }
}
