//! The counts. Labels have values of closed lists: tools that the host knows, routes, reasons, kinds. No word of anybody is among them.

use super::held::Held;
use super::text::{Counters, Family, Histograms, gauge, info};
use crate::observe::finding::{CallEnd, Finding, RequestEnd, RequestEnded, RunEnd};
use mainpath::types::Resolution;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Of what waits for a model or a tool, in seconds.
const LONG: &[f64] = &[0.005, 0.02, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
/// Of what the server does by itself, in seconds.
const SHORT: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

macro_rules! about {
    ($name:literal $help:literal $([$($label:literal),*])?) => {
        Family { name: concat!("mainpath_", $name), help: $help, labels: &[$($($label),*)?] }
    };
}

/// The counts.
pub struct Metrics {
    runs: Counters,
    run_seconds: Histograms,
    step_seconds: Histograms,
    model_requests: Counters,
    model_failures: Counters,
    model_request_seconds: Histograms,
    tool_calls: Counters,
    tool_call_seconds: Histograms,
    tokens: Counters,
    cost: Counters,
    http_requests: Counters,
    http_seconds: Histograms,
    spans: Counters,
    batches: AtomicU64,
    events: AtomicU64,
    watchers: Arc<AtomicI64>,
    connections: Arc<AtomicI64>,
    started: f64,
}

/// What goes on, as the server knows it when it is asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Levels {
    /// Runs that work.
    pub running: usize,
    /// Runs that wait for people, agents or a time.
    pub waiting: i64,
    /// Runs of before the start that wait for their turn to go on.
    pub queued: usize,
}

impl Default for Metrics {
    fn default() -> Metrics {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Metrics {
            runs: Counters::new(about!("runs_total" "Runs that ended, by why." ["finish_reason"])),
            run_seconds: Histograms::new(
                about!("run_seconds" "How long runs took, with the time that they waited for people."),
                LONG,
            ),
            step_seconds: Histograms::new(
                about!("step_seconds" "How long steps took: a turn of the model with the calls that it wanted."),
                LONG,
            ),
            model_requests: Counters::new(
                about!("model_requests_total" "Requests to models that ended, by how." ["outcome"]),
            ),
            model_failures: Counters::new(
                about!("model_failures_total" "Requests to models that failed, by kind." ["kind"]),
            ),
            model_request_seconds: Histograms::new(
                about!("model_request_seconds" "How long requests to models took."),
                LONG,
            ),
            tool_calls: Counters::new(
                about!("tool_calls_total" "Calls that ended, by tool and how." ["tool", "outcome"]),
            ),
            tool_call_seconds: Histograms::new(
                about!("tool_call_seconds" "How long calls ran, by tool; those that never started are left out." ["tool"]),
                LONG,
            ),
            tokens: Counters::new(
                about!("tokens_total" "Tokens by kind; cache_read and cache_write are parts of input, reasoning is a part of output." ["kind"]),
            ),
            cost: Counters::new(about!("cost_total" "What requests cost, in the unit of the price list.")),
            http_requests: Counters::new(
                about!("http_requests_total" "Requests to this server, by route and class of status." ["method", "route", "status"]),
            ),
            http_seconds: Histograms::new(
                about!("http_request_seconds" "How long it took until an answer began, by route." ["method", "route"]),
                SHORT,
            ),
            spans: Counters::new(
                about!("telemetry_spans_total" "Spans by what became of them: exported, or dropped as the receiver was too slow or refused them." ["outcome"]),
            ),
            batches: AtomicU64::new(0),
            events: AtomicU64::new(0),
            watchers: Arc::default(),
            connections: Arc::default(),
            started: since.unwrap_or(Duration::ZERO).as_secs_f64(),
        }
    }
}

impl Metrics {
    /// So many events were appended to a log, at once.
    pub fn appended(&self, events: usize) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.events.fetch_add(u64::try_from(events).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Counts something that ended.
    pub fn find(&self, finding: &Finding) {
        match finding {
            Finding::Began => {}
            Finding::Run(RunEnd { reason, span, .. }) => {
                self.runs.count(&[reason.as_str()]);
                self.run_seconds.took(&[], span.seconds());
            }
            Finding::Step(span) => self.step_seconds.took(&[], span.seconds()),
            Finding::Request(ended) => self.request(ended),
            Finding::Call(ended) => self.call(ended),
        }
    }

    fn request(&self, RequestEnd { span, how, spent, .. }: &RequestEnd) {
        let outcome = match how {
            RequestEnded::Answered => "answered",
            RequestEnded::Malformed => "malformed",
            RequestEnded::Failed(_) => "failed",
            RequestEnded::Abandoned => "abandoned",
        };
        self.model_requests.count(&[outcome]);
        if let RequestEnded::Failed(kind) = how {
            self.model_failures.count(&[kind]);
        }
        self.model_request_seconds.took(&[], span.seconds());
        let usage = &spent.usage;
        let kinds = [
            ("input", usage.input),
            ("output", usage.output),
            ("cache_read", usage.cache_read),
            ("cache_write", usage.cache_write),
            ("reasoning", usage.reasoning),
        ];
        for (kind, tokens) in kinds.into_iter().filter(|(_, tokens)| *tokens > 0) {
            self.tokens.add(&[kind], tokens as f64);
        }
        self.cost.add(&[], spent.cost as f64 / 1e6);
    }

    fn call(&self, CallEnd { tool, span, resolution, error, .. }: &CallEnd) {
        let tool = tool.as_deref().unwrap_or("(unknown)");
        let outcome = match resolution {
            Resolution::Ok => "ok",
            Resolution::Error if error.as_deref() == Some("refused") => "refused",
            Resolution::Error => "error",
            Resolution::Denied => "denied",
            Resolution::Skipped => "skipped",
            Resolution::Interrupted | Resolution::Unknown => "interrupted",
        };
        self.tool_calls.count(&[tool, outcome]);
        if let Some(span) = span {
            self.tool_call_seconds.took(&[tool], span.seconds());
        }
    }

    /// Counts a request to this server.
    pub fn answered(&self, method: &str, route: &str, status: u16, took: Duration) {
        let class = match status {
            100..200 => "1xx",
            200..300 => "2xx",
            300..400 => "3xx",
            400..500 => "4xx",
            _ => "5xx",
        };
        self.http_requests.count(&[method, route, class]);
        self.http_seconds.took(&[method, route], took.as_secs_f64());
    }

    /// Counts spans that were sent, or were not.
    pub fn spans(&self, outcome: &'static str, count: usize) {
        self.spans.add(&[outcome], count as f64);
    }

    /// Counts somebody who watches, until what is given back is dropped.
    pub fn watcher(&self) -> Held {
        Held::new(&self.watchers)
    }

    /// The same for a connection.
    pub fn connection(&self) -> Held {
        Held::new(&self.connections)
    }

    /// All of it, in Prometheus' text format.
    pub fn text(&self, levels: Levels) -> String {
        let mut text = String::new();
        let to = &mut text;
        for counters in
            [&self.runs, &self.model_requests, &self.model_failures, &self.tool_calls, &self.tokens, &self.cost]
        {
            counters.write(to);
        }
        for times in [&self.run_seconds, &self.step_seconds, &self.model_request_seconds, &self.tool_call_seconds] {
            times.write(to);
        }
        self.http_requests.write(to);
        self.http_seconds.write(to);
        self.spans.write(to);
        for (about, count) in [
            (about!("log_batches_total" "Appends to logs, each durable when it is counted."), &self.batches),
            (about!("log_events_total" "Events that were appended to logs."), &self.events),
        ] {
            let counters = Counters::new(about);
            counters.add(&[], count.load(Ordering::Relaxed) as f64);
            counters.write(to);
        }
        let of = |count: &AtomicI64| count.load(Ordering::Relaxed) as f64;
        gauge(to, &about!("runs_running" "Runs that work now."), levels.running as f64);
        gauge(to, &about!("runs_waiting" "Runs that wait for people, agents or a time."), levels.waiting as f64);
        gauge(
            to,
            &about!("runs_queued" "Runs that an earlier process left and that wait for their turn."),
            levels.queued as f64,
        );
        gauge(to, &about!("watchers" "Streams of events that are open."), of(&self.watchers));
        gauge(to, &about!("http_connections" "Connections that are open."), of(&self.connections));
        gauge(to, &about!("start_time_seconds" "When the server began, in seconds since 1970."), self.started);
        info(to, &about!("build_info" "The version of the server." ["version"]), &[env!("CARGO_PKG_VERSION")]);
        text
    }
}
