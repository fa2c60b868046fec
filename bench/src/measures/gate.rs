//! What a decision costs: a call's arguments against their schema, the call against its rules.

use crate::Fail;
use crate::process::{folder, now};
use crate::stats::{median, quantile};
use crate::table::Row;
use mainpath_policy::{Folders, Layer, Policy, Rules, judge};
use mainpath_tools::{Tools, Workspace};
use mainpath_types::{Access, Decision};
use std::hint::black_box;
use std::sync::Arc;

/// Calls as models make them: a command line of three commands, and a file to be written.
const CALLS: [(&str, &str); 2] = [
    ("bash", r#"{"command":"git status --short && cargo test -p some-crate -- --nocapture 2>&1 | tail -n 20"}"#),
    ("write_text_file", r#"{"path":"src/some/module.rs","content":"fn main() {}\n"}"#),
];

/// A hundred rules as people write them, of which some fit.
pub(super) fn rules() -> String {
    let mut file = String::new();
    for n in 0..100 {
        let (decision, pattern) = match n % 5 {
            0 => ("deny", format!("bash(program-{n} --force *)")),
            1 => ("ask", format!("bash(git push origin-{n} *)")),
            2 => ("allow", format!("write(src/folder-{n}/**/*.rs)")),
            3 => ("deny", format!("http_request(POST https://*.host-{n}.example.com/v1/**)")),
            _ => ("allow", format!("bash(tool-{n} sub-*)")),
        };
        file.push_str(&format!("[[rule]]\ndecision = \"{decision}\"\nmatch = \"{pattern}\"\n"));
    }
    for pattern in ["bash(git status *)", "bash(cargo test *)", "bash(tail *)", "write(src/**)"] {
        file.push_str(&format!("[[rule]]\ndecision = \"allow\"\nmatch = \"{pattern}\"\n"));
    }
    file
}

/// A decision on a call under a hundred rules.
pub fn gate(quick: bool) -> Result<Vec<Row>, Fail> {
    let folder = folder()?;
    let workspace = Workspace::new(folder.path(), Vec::new())?;
    let folders = Folders {
        workspace: workspace.root().display().to_string(),
        home: "/home/somebody".into(),
        ..Folders::default()
    };
    let began = now();
    let mut policy = Policy::builtin(folders)?;
    policy.add_file(Layer::User, "policy.toml", &rules())?;
    let loaded = (now() - began) as f64;
    let tools = Tools::kernel();
    let allowed_tools = CALLS.iter().map(|(tool, _)| (*tool).to_string()).collect();
    let rules = Rules { access: Access::Ask, allowed_tools, policy: Arc::new(policy), ..Rules::default() };
    let rounds = if quick { 2_000 } else { 20_000 };
    let mut rows = Vec::new();
    for (tool, arguments) in CALLS {
        let (mut whole, mut judging) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let began = now();
            let planned = tools.plan(tool, arguments, &workspace).map_err(|problem| problem.to_string())?;
            let middle = now();
            let verdict = black_box(judge(&rules, &planned.facts));
            whole.push((now() - began) as f64);
            judging.push((now() - middle) as f64);
            if verdict.decision != Decision::Allow {
                return Err(format!("{tool} was not allowed: {verdict:?}").into());
            }
        }
        let (micros, best) = (median(&whole) / 1e3, quantile(&whole, 0.1) / 1e3);
        let what = format!("decide on a call of {tool}: schema and 104 rules");
        rows.push(Row::goal(&what, "< 20 us", format!("{micros:.1} us"), micros < 20.0));
        let parts = format!("{best:.1} us; {:.1} us", median(&judging) / 1e3);
        rows.push(Row::note("the same: the best tenth; the rules alone", parts));
    }
    rows.push(Row::note("load 104 rules and Mainpath's own", format!("{:.1} ms", loaded / 1e6)));
    Ok(rows)
}
