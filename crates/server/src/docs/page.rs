//! The document as a page, and a page for each kind of problem.

use crate::problem::Kind;
use crate::route::Route;
use std::fmt::Write;
use std::sync::Arc;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}\
h2{margin-top:2.5rem;border-bottom:1px solid #ddd}article{margin:1.2rem 0}code,pre{font:14px/1.45 ui-monospace,monospace}\
.m{display:inline-block;min-width:4.5rem;font-weight:600}.s{color:#666;font-size:.9rem}summary{cursor:pointer}\
pre{background:#f6f6f6;padding:.7rem;overflow:auto}\
@media(prefers-color-scheme:dark){body{background:#161616;color:#e8e8e8}pre{background:#222}h2{border-color:#444}.s{color:#aaa}}";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn framed(title: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head><body>{body}</body></html>"
    )
}

/// All routes.
pub fn page(routes: &[Arc<Route>]) -> String {
    let mut body = String::from(
        "<h1>Mainpath</h1><p>Every request needs a key: <code>Authorization: Bearer KEY</code>. The whole document, for programs: \
         <a href=\"/openapi.json\">/openapi.json</a> (OpenAPI 3.1).</p>",
    );
    let mut group = "";
    for route in routes {
        if route.group != group {
            group = route.group;
            let _ = write!(body, "<h2>{}</h2>", escaped(group));
        }
        let needs = route.needs.map_or("nobody's key", |scope| scope.name());
        let _ = write!(
            body,
            "<article id=\"{}\"><div><span class=\"m\">{}</span><code>{}</code></div><div>{} <span class=\"s\">scope {needs}</span></div>",
            route.name,
            route.method,
            escaped(route.path),
            escaped(route.about),
        );
        for (what, takes) in [("query", &route.query), ("body", &route.body)] {
            let Some(takes) = takes else { continue };
            let schema = serde_json::to_string_pretty(&takes.root).unwrap_or_default();
            let _ = write!(body, "<details><summary>{what}</summary><pre>{}</pre></details>", escaped(&schema));
        }
        body.push_str("</article>");
    }
    body.push_str("<h2>problems</h2>");
    for kind in Kind::ALL {
        let _ = write!(
            body,
            "<article><span class=\"m\">{}</span><a href=\"/problems/{}\"><code>{}</code></a> {}</article>",
            kind.status,
            kind.name,
            kind.name,
            escaped(kind.title)
        );
    }
    framed("Mainpath", &body)
}

/// A kind of problem.
pub fn problem(kind: &Kind) -> String {
    let body = format!(
        "<h1>{}</h1><p><code>{}</code>, status {}</p><p>{}</p><p><a href=\"/docs\">All addresses</a></p>",
        escaped(kind.title),
        kind.name,
        kind.status,
        escaped(kind.advice)
    );
    framed(kind.name, &body)
}
