//! From HTML to Markdown, with bounds: pages are written by anybody.

use htmd::element_handler::{HandlerResult, Handlers};
use htmd::options::{BulletListMarker, Options};
use htmd::{Element, HtmlToMarkdown};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Node, NodeData, RcDom};
use reqwest::Url;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Elements inside one another; what is deeper is left out. Browsers stop at 512, pages that people write at about 40.
const DEEPEST: usize = 100;
/// Lists and quotations inside one another. Each indents every line within it.
const NESTED: usize = 12;
/// Cells of a row.
const CELLS: usize = 100;
/// How long reading a page may take; some can be written so that it takes a square of their length.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes that are read before the clock is looked at.
const PIECE: usize = 8 * 1024;

/// What nobody reads.
const UNREAD: [&str; 13] = [
    "canvas", "embed", "head", "iframe", "input", "math", "noscript", "object", "script", "select", "style", "svg",
    "template",
];

/// A page as a person would read it.
#[derive(Debug, PartialEq)]
pub(crate) struct Page {
    pub title: String,
    pub markdown: String,
    /// Whether something was left out because it was too deep or took too long.
    pub shortened: bool,
}

/// Turns HTML into Markdown. `base`: where it came from; links are made whole by it.
pub(crate) fn page(html: &str, base: &Url) -> Page {
    let (tree, whole) = parse(html);
    let mut title = String::new();
    let pruned = prune(&tree, base, &mut title);
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let converter = HtmlToMarkdown::builder().options(options).add_handler(vec!["table"], table).build();
    Page { title: one_line(&title), markdown: converter.tree_to_markdown(&tree), shortened: pruned || !whole }
}

/// The tree of a page, and whether all of it was read.
fn parse(html: &str) -> (Rc<Node>, bool) {
    let begin = Instant::now();
    let mut parser = parse_document(RcDom::default(), ParseOpts::default());
    let (mut rest, mut whole) = (html, true);
    while !rest.is_empty() {
        if begin.elapsed() > PATIENCE {
            whole = false;
            break;
        }
        let end = (0..=rest.len().min(PIECE)).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(0);
        let (piece, more) = rest.split_at(end);
        parser.process(StrTendril::from_slice(piece));
        rest = more;
    }
    (parser.finish().document, whole)
}

/// Takes out what nobody reads and what is too deep, and makes links whole. Says whether something was too deep. It keeps its
/// own list of what to do, since a tree from outside may be deeper than a stack.
fn prune(tree: &Rc<Node>, base: &Url, title: &mut String) -> bool {
    let mut shortened = false;
    let mut todo = vec![(tree.clone(), 0, 0)];
    while let Some((node, depth, nested)) = todo.pop() {
        if let NodeData::Element { attrs, .. } = &node.data {
            attrs.borrow_mut().retain_mut(|attr| match &*attr.name.local {
                "href" | "src" => match linked(&attr.value, base) {
                    Some(link) => {
                        attr.value = link.into();
                        true
                    }
                    None => false,
                },
                _ => true,
            });
        }
        let nested = nested + usize::from(matches!(tag(&node), Some("ul" | "ol" | "blockquote" | "menu" | "dl")));
        if depth >= DEEPEST || nested > NESTED {
            shortened |= !node.children.borrow().is_empty();
            node.children.borrow_mut().clear();
            continue;
        }
        node.children.borrow_mut().retain(|child| {
            if tag(child) == Some("head") {
                let children = child.children.borrow();
                children
                    .iter()
                    .filter(|child| tag(child) == Some("title"))
                    .take(1)
                    .for_each(|child| texts(child, title));
            }
            !tag(child).is_some_and(|tag| UNREAD.contains(&tag)) && !hidden(child)
        });
        todo.extend(node.children.borrow().iter().map(|child| (child.clone(), depth + 1, nested)));
    }
    shortened
}

fn tag(node: &Node) -> Option<&str> {
    match &node.data {
        NodeData::Element { name, .. } => Some(&name.local),
        _ => None,
    }
}

fn hidden(node: &Node) -> bool {
    match &node.data {
        NodeData::Element { attrs, .. } => attrs.borrow().iter().any(|attr| &*attr.name.local == "hidden"),
        _ => false,
    }
}

/// The texts right in a node.
fn texts(node: &Node, into: &mut String) {
    for child in node.children.borrow().iter() {
        if let NodeData::Text { contents } = &child.data {
            into.push_str(&contents.borrow());
        }
    }
}

/// A link made whole; `None` if it leads to nothing that can be fetched or written to.
fn linked(link: &str, base: &Url) -> Option<String> {
    let url = base.join(link.trim()).ok()?;
    matches!(url.scheme(), "http" | "https" | "mailto").then(|| url.to_string())
}

/// A table with headings as a Markdown table; any other is only there for its layout. Cells are not padded: widths would
/// multiply.
fn table(handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    let (mut rows, mut caption) = (Vec::new(), String::new());
    let children = element.node.children.borrow();
    for child in children.iter() {
        match tag(child) {
            Some("tr") => rows.push(cells(child)),
            Some("thead" | "tbody" | "tfoot") => {
                rows.extend(child.children.borrow().iter().filter(|row| tag(row) == Some("tr")).map(cells));
            }
            Some("caption") => texts(child, &mut caption),
            _ => {}
        }
    }
    if !rows.iter().flatten().any(|cell| tag(cell) == Some("th")) {
        drop(children);
        return handlers.fallback(element);
    }
    let mut text = String::from("\n\n");
    if !caption.trim().is_empty() {
        text.push_str(&format!("{}\n\n", one_line(&caption)));
    }
    for (at, row) in rows.iter().enumerate() {
        for cell in row {
            let said = handlers.handle(cell).map(|said| said.content).unwrap_or_default();
            text.push_str(&format!("| {} ", one_line(&said).replace('|', "\\|")));
        }
        text.push_str("|\n");
        if at == 0 {
            text.push_str(&format!("{}|\n", "| --- ".repeat(row.len())));
        }
    }
    text.push('\n');
    Some(text.into())
}

fn cells(row: &Rc<Node>) -> Vec<Rc<Node>> {
    let children = row.children.borrow();
    children.iter().filter(|cell| matches!(tag(cell), Some("td" | "th"))).take(CELLS).cloned().collect()
}

/// The text on one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    fn read(html: &str) -> Page {
        page(html, &Url::parse("https://a.test/x/y?q=1").unwrap())
    }

    #[test]
    fn a_page_reads_like_its_text() {
        let html = "<!doctype html><html><head><title> A\n title </title><style>p{}</style></head><body><h1>Head</h1>\
                    <script>alert(1)</script><p>Some <b>bold</b> and <a href='../z'>a link</a>, <a href='javascript:x()'>none</a>.</p>\
                    <ul><li>one<li>two</ul><pre><code>let x = 1;\n</code></pre><p hidden>unseen</p>\
                    <table><caption>Sizes</caption><tr><th>k<th>v|w<tr><td>a<td>1</table><img src='i.png' alt='a picture'></body></html>";
        let markdown = "# Head\n\nSome **bold** and [a link](https://a.test/z), none.\n\n- one\n- two\n\n```\nlet x = 1;\n```\n\nSizes\n\n\
                        | k | v\\|w |\n| --- | --- |\n| a | 1 |\n\n![a picture](https://a.test/x/i.png)";
        assert_eq!(read(html), Page { title: "A title".into(), markdown: markdown.into(), shortened: false });
    }

    #[test]
    fn tables_for_layout_are_only_text() {
        let page = read("<table><tr><td>left</td><td><table><tr><td>right</td></tr></table></td></tr></table>");
        assert_eq!(one_line(&page.markdown), "left right");
    }

    #[test]
    fn endless_nesting_is_cut_and_said() {
        for tag in [
            "div",
            "b",
            "ul><li",
            "blockquote",
            "table><tr><td",
            "template",
            "svg",
            "li><dd",
            "optgroup",
            "font",
            "a",
            "p",
        ] {
            let html = format!("start {}end", format!("<{tag}>").repeat(1_000));
            let page = read(&html);
            assert!(page.markdown.starts_with("start"), "{tag}: {:.80}", page.markdown);
            assert!(page.markdown.len() < 100_000, "{tag}: {} bytes", page.markdown.len());
        }
        assert!(read(&format!("{}deep", "<div>".repeat(200))).shortened);
    }

    #[test]
    fn pages_that_multiply_stay_small() {
        let wide = format!("<table><tr><th>{}{}", "<td>".repeat(5_000), "<tr><td>".repeat(5_000));
        let padded = format!("<table><tr><th>{}{}", "x".repeat(20_000), "<tr><td>y".repeat(2_000));
        let quoted = format!("{}{}", "<blockquote>".repeat(200), "a<br>".repeat(5_000));
        let listed = format!("{}<pre>{}", "<ol><li>".repeat(200), "\n".repeat(20_000));
        for html in [wide, padded, quoted, listed] {
            let page = read(&html);
            assert!(page.markdown.len() < 20 * html.len(), "{} bytes from {}", page.markdown.len(), html.len());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn any_soup_of_tags_becomes_some_text(
            pieces in vec(prop_oneof![select(&SOUP[..]).prop_map(String::from), "\\PC{0,6}"], 0..60)
        ) {
            let html = pieces.concat();
            let page = read(&html);
            prop_assert!(page.markdown.len() <= 200 + 60 * html.len());
        }
    }

    /// What pages are made of, whole and broken.
    const SOUP: [&str; 40] = [
        "<table>",
        "</table>",
        "<tr>",
        "<td>",
        "<th>",
        "<thead>",
        "<caption>",
        "<ul>",
        "</ul>",
        "<ol start=7>",
        "<li>",
        "<p>",
        "</p>",
        "<pre>",
        "</pre>",
        "<code>",
        "</code>",
        "<blockquote>",
        "<a href='/x'>",
        "</a>",
        "<img src=x alt='y'>",
        "<b>",
        "</i>",
        "<h1>",
        "</h1>",
        "<template>",
        "<svg>",
        "<math>",
        "<select>",
        "<option>",
        "<br>",
        "<hr>",
        "<!--",
        "-->",
        "<script>",
        "</script>",
        "<title>",
        "</",
        "&amp;",
        "\n",
    ];

    #[test]
    fn odd_markup_harms_nobody() {
        let odd = [
            "",
            "<",
            "<>",
            "</",
            "<!--",
            "<![CDATA[x",
            "<?php x ?>",
            "&#0;&#xD800;&#99999999;&notanentity;",
            "\0\u{feff}\u{202e}",
            "<a href='http://['>x</a>",
            "<img src='data:image/png;base64,AAAA'>",
            "<ol start=99999999999><li>x</ol>",
            "<ol start=2147483647><li>x<li>y</ol>",
            "<h1><h2><h3>x",
            "<frameset><frame></frameset>",
            "<body></body></html>after",
            "<table><th></table>",
            "<code>```</code>",
            "<pre>```\n</pre>",
            "<title><b>x</title>",
            "<svg><title>t</title></svg>x",
        ];
        for html in odd {
            read(html);
        }
        let attributes: String = (0..2_000).map(|n| format!(" a{n}=1")).collect();
        assert_eq!(read(&format!("<p{attributes}>text</p>")).markdown, "text");
    }
}
