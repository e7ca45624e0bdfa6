//! The log on standard error in Flux v1's two shapes (fluxd-v1 §10.3): logfmt, and JSON lines with the same keys. The level
//! is told by the key of the message (`info`, `warning`, `err`, `debug`), because users search for these.
//!
//! What this does not do: rotate, ship or count lines, and it does not hide secrets: nobody may log them.

mod encode;

use std::fmt;
use std::io::Write;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

pub use encode::Value;

/// The shape of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// `key=value` pairs.
    #[default]
    Logfmt,
    /// One JSON object per line.
    Json,
}

/// Sends all events of this process to standard error.
///
/// `level` holds for our own code; libraries are heard from `warn` on.
///
/// # Errors
/// If a log has been set up before.
pub fn init(format: Format, level: Level) -> Result<(), TryInitError> {
    let filter = Targets::new().with_default(Level::WARN.min(level)).with_target(env!("CARGO_PKG_NAME"), level);
    let layer = Lines { format, write: |line: &[u8]| std::io::stderr().lock().write_all(line) };
    tracing_subscriber::registry().with(layer.with_filter(filter)).try_init()
}

/// A layer that writes one line per event. Spans are not shown.
struct Lines<W> {
    format: Format,
    write: W,
}

impl<S: Subscriber, W: Fn(&[u8]) -> std::io::Result<()> + 'static> Layer<S> for Lines<W> {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let line = line(self.format, &now(), event);
        // Standard error is gone: there is nowhere left to say so.
        (self.write)(&line).ok();
    }
}

/// RFC 3339 with nanoseconds, in UTC, trailing zeros cut, as Go writes it.
fn now() -> String {
    jiff::Timestamp::now().to_string()
}

fn line(format: Format, ts: &str, event: &Event<'_>) -> Vec<u8> {
    let meta = event.metadata();
    let mut fields = Fields::default();
    event.record(&mut fields);
    let mut pairs: Vec<(&str, Value)> = vec![("ts", Value::Text(ts.to_owned())), ("caller", Value::Text(caller(meta)))];
    let told = fields.take("component");
    if let Some(component) = told.or_else(|| component(meta.target()).map(|c| Value::Text(c.to_owned()))) {
        pairs.push(("component", component));
    }
    if let Some(message) = fields.take("message") {
        let key = message_key(*meta.level());
        let key = if fields.0.iter().any(|(name, _)| *name == key) { "msg" } else { key };
        pairs.push((key, message));
    }
    pairs.extend(fields.0);
    match format {
        Format::Logfmt => encode::logfmt(&pairs),
        Format::Json => encode::json(pairs),
    }
}

fn message_key(level: Level) -> &'static str {
    match level {
        Level::ERROR => "err",
        Level::WARN => "warning",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

/// `file.rs:line`, as v1's `caller=main.go:259`.
fn caller(meta: &Metadata<'_>) -> String {
    let file = meta.file().unwrap_or("unknown");
    format!("{}:{}", file.rsplit('/').next().unwrap_or(file), meta.line().unwrap_or_default())
}

/// The component of a line that does not name one: the room of our code (none for `cli`, as v1's `main`), or the library.
fn component(target: &str) -> Option<&str> {
    let mut parts = target.split("::");
    match parts.next() {
        Some(env!("CARGO_PKG_NAME")) => parts.next().filter(|room| *room != "cli"),
        library => library,
    }
}

/// The fields of one event, in the order given.
#[derive(Default)]
struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    fn take(&mut self, name: &str) -> Option<Value> {
        let at = self.0.iter().position(|(other, _)| *other == name)?;
        Some(self.0.remove(at).1)
    }

    fn push(&mut self, field: &Field, value: Value) {
        self.0.push((field.name(), value));
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.push(field, Value::Text(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.push(field, Value::Text(value.to_owned()));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.push(field, Value::Text(value.to_string()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push(field, Value::Bool(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push(field, Value::Int(value.into()));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push(field, Value::Int(value.into()));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.push(field, Value::Float(value));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Runs `emit` under a log of the given format and returns its lines, timestamps and line numbers replaced.
    fn logged(format: Format, emit: impl FnOnce()) -> Vec<String> {
        let lines: Arc<Mutex<Vec<u8>>> = Arc::default();
        let sink = Arc::clone(&lines);
        let write = move |line: &[u8]| sink.lock().unwrap().write_all(line);
        let subscriber = tracing_subscriber::registry().with(Lines { format, write });
        tracing::subscriber::with_default(subscriber, emit);
        let text = String::from_utf8(lines.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| line.split_once("component").map_or("", |(_, rest)| rest).to_owned()).collect()
    }

    #[test]
    fn lines_look_like_flux_v1s() {
        let key = "ssh-rsa AAAA== \n";
        let lines = logged(Format::Logfmt, || {
            tracing::info!(component = "cluster", identity.pub = key);
            tracing::info!(component = "sync-loop", event = "refreshed", "HEAD" = %"6f", count = 3, took = 1.5);
            tracing::error!(component = "daemon", err = "no \"disk\"", "it failed");
            tracing::warn!("slow down");
        });
        assert_eq!(
            lines,
            [
                r#"=cluster identity.pub="ssh-rsa AAAA== \n""#,
                "=sync-loop event=refreshed HEAD=6f count=3 took=1.5",
                r#"=daemon msg="it failed" err="no \"disk\"""#,
                r#"=runtime warning="slow down""#,
            ]
        );
    }

    #[test]
    fn json_has_the_same_keys() {
        let lines = logged(Format::Json, || tracing::info!(component = "daemon", ok = true, count = 3, "done <b>"));
        assert!(lines[0].starts_with(r#"":"daemon","count":3,"info":"done <b>","ok":true,"ts":"2"#), "{lines:?}");
    }

    #[test]
    fn the_prefix_is_timestamp_and_caller() {
        let lines: Arc<Mutex<Vec<u8>>> = Arc::default();
        let sink = Arc::clone(&lines);
        let write = move |line: &[u8]| sink.lock().unwrap().write_all(line);
        let subscriber = tracing_subscriber::registry().with(Lines { format: Format::Logfmt, write });
        tracing::subscriber::with_default(subscriber, || tracing::info!(target: "fluxd::cli", "x"));
        let text = String::from_utf8(lines.lock().unwrap().clone()).unwrap();
        let fields: Vec<&str> = text.trim_end().split(' ').collect();
        assert!(fields[0].starts_with("ts=20") && fields[0].ends_with('Z'), "{text}");
        assert!(fields[1].starts_with("caller=mod.rs:"), "{text}");
        assert_eq!(fields[2..], ["info=x"]);
    }
}
