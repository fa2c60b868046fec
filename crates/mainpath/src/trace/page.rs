//! A trace for people, as one page that needs nothing else: no server, no script, nothing from elsewhere.

use super::export::{Export, reworded_by};
use super::markdown::what;
use crate::Error;
use crate::text::{gist, span, visible};
use mainpath_runtime::views;
use mainpath_types::{Message, Part, Role, Seq, Source, text_of};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How it looks. Colours follow the reader's choice of light or dark.
const STYLE: &str = "\
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--dim:#777}\
body{font:15px/1.5 system-ui,sans-serif;max-width:52rem;margin:0 auto;padding:1.5rem}\
h1{font-size:1.4rem;margin:0}h2{font-size:1rem;margin:0 0 .3rem}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;color:var(--dim)}dd{margin:0}\
article{border:1px solid var(--line);border-radius:6px;padding:.7rem 1rem;margin:.8rem 0;overflow-wrap:anywhere}\
article.user{background:var(--soft)}article small,summary small{color:var(--dim);font-weight:normal}\
p,pre{white-space:pre-wrap;unicode-bidi:isolate;margin:.4rem 0}pre{font:13px/1.45 ui-monospace,monospace;background:var(--soft);padding:.5rem;\
border-radius:4px;max-height:40rem;overflow:auto}\
details{margin:.4rem 0}summary{cursor:pointer}.failed{color:#c33}.think{color:var(--dim);border-left:3px solid var(--line);padding-left:.7rem}\
img{max-width:100%}table{border-collapse:collapse;width:100%;font-size:13px}td{border-top:1px solid var(--line);vertical-align:top;padding:.2rem .5rem}";
/// Nothing in the page may load or run anything, whatever an agent has written.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
/// Pictures that every browser shows and that cannot hold a script.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A text as it is shown: nothing in it is markup, hides or reorders letters.
pub(crate) fn as_html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

impl Export<'_> {
    /// The trace as one HTML file that opens without a server: what it was about, the conversation with each call and the rule that decided on
    /// it, and every event. Errors: as [`Export::conversation`]'s.
    pub async fn page(&self) -> Result<String, Error> {
        let about: Value = match self.views().await?.into_iter().find(|(name, _)| *name == "meta.json") {
            Some((_, bytes)) => serde_json::from_slice(&bytes).unwrap_or_default(),
            None => Value::Null,
        };
        let events = self.wire();
        let title = about["name"].as_str().map_or_else(|| self.of.trace.to_string(), String::from);
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\"><title>{0}</title><style>{STYLE}</style></head>\n\
             <body><h1>{0}</h1>\n<dl><dt>trace</dt><dd>{1}</dd>",
            as_html(&title),
            as_html(self.of.trace.as_str())
        );
        if let Some(about) = about.as_object() {
            for (name, value) in about.iter().filter(|(name, value)| *name != "name" && !value.is_null()) {
                let value = value.as_str().map_or_else(|| value.to_string(), String::from);
                let _ = write!(page, "<dt>{}</dt><dd>{}</dd>", as_html(name), as_html(&value));
            }
        }
        page.push_str("</dl>\n");
        let rules = verdicts(&events);
        for message in self.messages().await? {
            self.article(&message, &rules, &mut page);
        }
        if let Some(end) = views::ending(self.of.at().scoped(), self.of.state, self.of.bodies).await? {
            let _ = writeln!(page, "<article><h2>Ended: {}</h2></article>", as_html(end.reason.as_str()));
        }
        let _ = writeln!(page, "<details><summary>All {} events</summary><table>", events.len());
        for event in &events {
            let text =
                |field: &str| as_html(&event[field].as_str().map_or_else(|| event[field].to_string(), String::from));
            let _ = writeln!(
                page,
                "<tr><td>{}<td>{}<td>{}<td><details><summary>show</summary><pre>{}</pre></details>",
                text("id"),
                text("ts"),
                text("type"),
                as_html(&format!("{event:#}"))
            );
        }
        page.push_str("</table></details>\n</body></html>\n");
        Ok(page)
    }

    fn article(&self, message: &Message, rules: &BTreeMap<String, String>, page: &mut String) {
        let (class, who) = match message.role {
            Role::User => ("user", "User"),
            Role::Assistant => ("assistant", "Assistant"),
            Role::Tool => ("tool", "Result"),
        };
        let number = message.seq.map(|seq| format!("#{seq}")).unwrap_or_default();
        let time = message.seq.and_then(|seq| self.elapsed(seq)).map(span).unwrap_or_default();
        let reworded = message.seq.and_then(|seq| self.reworded(seq)).map(|by| format!(" {}", reworded_by(by)));
        let reworded = reworded.unwrap_or_default();
        let _ = writeln!(page, "<article class=\"{class}\"><h2>{who} <small>{number} {time}{reworded}</small></h2>");
        let mut index = 0;
        for part in &message.parts {
            let rule = match part {
                Part::ToolCall { .. } => {
                    index += 1;
                    rule_of(rules, message.seq, index - 1)
                }
                _ => None,
            };
            write_part(part, rule, page);
        }
        page.push_str("</article>\n");
    }
}

fn rule_of(rules: &BTreeMap<String, String>, seq: Option<Seq>, index: usize) -> Option<&str> {
    rules.get(&format!("{}.{index}", seq?)).map(String::as_str)
}

/// For each call what was decided on it at once, and by which rule.
fn verdicts(events: &[Value]) -> BTreeMap<String, String> {
    let validated = events.iter().filter(|event| event["type"] == "action_validated");
    let told = validated.filter_map(|event| {
        let (call, verdict) = (event["data"]["call"].as_str()?, &event["data"]["verdict"]);
        let (decision, rule) = (verdict["decision"].as_str()?, verdict["rule"].as_str()?);
        Some((call.to_string(), format!("{decision} by {rule}: {}", verdict["reason"].as_str().unwrap_or_default())))
    });
    told.collect()
}

fn write_part(part: &Part, rule: Option<&str>, page: &mut String) {
    let _ = match part {
        Part::Text { text } => writeln!(page, "<p>{}</p>", as_html(text.trim())),
        Part::Thinking { text, .. } if text.trim().is_empty() => Ok(()),
        Part::Thinking { text, .. } => {
            writeln!(
                page,
                "<details><summary>Reasoning</summary><p class=\"think\">{}</p></details>",
                as_html(text.trim())
            )
        }
        Part::ToolCall { name, arguments, .. } => {
            let whole: Value = serde_json::from_str(arguments).unwrap_or_else(|_| arguments.clone().into());
            let rule = rule.map(|rule| format!("<p><small>{}</small></p>", as_html(rule))).unwrap_or_default();
            writeln!(
                page,
                "<details><summary><b>{}</b> <small>{}</small></summary><pre>{}</pre>{rule}</details>",
                as_html(name),
                as_html(&gist(arguments)),
                as_html(&format!("{whole:#}"))
            )
        }
        Part::ToolResult { name, content, is_error, .. } => {
            let failed = if *is_error { " <span class=\"failed\">failed</span>" } else { "" };
            let text = text_of(content);
            content
                .iter()
                .filter(|part| !matches!(part, Part::Text { .. }))
                .for_each(|part| write_part(part, None, page));
            writeln!(
                page,
                "<details><summary><b>{}</b>{failed} <small>{} characters</small></summary><pre>{}</pre></details>",
                as_html(name),
                text.chars().count(),
                as_html(&text)
            )
        }
        Part::Image { source } => match picture(source) {
            Some(address) => writeln!(page, "<img alt=\"picture\" src=\"{address}\">"),
            None => writeln!(page, "<p>[image: {}]</p>", as_html(what(source))),
        },
        Part::Audio { source } => writeln!(page, "<p>[sound: {}]</p>", as_html(what(source))),
        Part::Document { source, name, .. } => {
            writeln!(
                page,
                "<p>[document {}: {}]</p>",
                as_html(name.as_deref().unwrap_or_default()),
                as_html(what(source))
            )
        }
        Part::StoredText { bytes, .. } => writeln!(page, "<p>[{bytes} bytes that are not at hand]</p>"),
    };
}

/// A picture as an address that holds it.
fn picture(source: &Source) -> Option<String> {
    match source {
        Source::Base64 { media_type, data, .. } if PICTURES.contains(&media_type.as_str()) => {
            let is_base64 = |c: u8| c.is_ascii_alphanumeric() || b"+/=".contains(&c);
            data.bytes().all(is_base64).then(|| format!("data:{media_type};base64,{data}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_an_agent_writes_is_markup() {
        let mut page = String::new();
        let evil = "</pre><script>alert(1)</script>\u{202E}\u{1b}[31m<img src=x onerror=\"a'b\">";
        let call = Part::ToolCall { name: evil.into(), arguments: evil.into(), signature: None };
        for part in [Part::text(evil), call] {
            write_part(&part, Some(evil), &mut page);
        }
        let source = Source::Url { url: format!("javascript:{evil}") };
        write_part(&Part::Image { source }, None, &mut page);
        assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
        assert!(page.contains("&lt;script&gt;") && page.contains("&lt;U+202E&gt;"), "{page}");
        let data = Source::Base64 { media_type: "image/png".into(), data: "\"><script>".into() };
        assert_eq!(picture(&data), None);
    }
}
