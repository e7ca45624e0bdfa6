//! One object: where it is written, which commit wrote it, its last apply, and who owns which field.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::super::table::columns;
use super::Paint;
use super::diff::short;
use crate::report::{FieldOwner, TraceView};

/// The whole story of an object.
pub fn trace(view: &TraceView, paint: Paint) -> String {
    let object = &view.object;
    let mut text = format!("Object\t{}\n", paint.strong(&object.id.to_string()));
    // Writing into a String cannot fail.
    let mut line = |name: &str, value: &str| writeln!(text, "{name}\t{value}").unwrap_or_default();
    match &object.file {
        Some(file) if object.generated => line("File", &format!("{file} (a command of it made the object)")),
        Some(file) => line("File", &object.line.map_or_else(|| file.clone(), |at| format!("{file}:{at}"))),
        None => line("File", "none: it is not in git"),
    }
    if let Some(commit) = &view.commit {
        line("Commit", &format!("{} {}", short(&commit.revision), commit.message));
    }
    match &view.last_apply {
        Some(apply) => {
            let ended = apply.ended.map_or_else(String::new, |ended| format!(", {ended:.0}"));
            line("Last sync", &format!("{} at {}{ended}", apply.result, short(&apply.revision)));
            if let Some(error) = &apply.error {
                line("Error", &paint.removed(&error.replace('\n', " ")));
            }
            apply.warnings.iter().for_each(|warning| line("Warning", &paint.changed(warning)));
        }
        None => line("Last sync", "none that included it since the daemon started"),
    }
    if let Some(owner) = &object.owner {
        line("Made by", &owner.to_string());
    }
    line("Live", if view.live { "yes" } else { "no" });
    let mut text = columns(&text);
    text.push_str(&owners(&view.fields, paint));
    text
}

/// Fields by who owns them.
fn owners(fields: &[FieldOwner], paint: Paint) -> String {
    let mut by_owner: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
    for field in fields {
        let sub = if field.subresource.is_empty() { String::new() } else { format!(" of {}", field.subresource) };
        let when = field.time.map_or_else(String::new, |time| format!(", {time:.0}"));
        let owner = (field.manager.clone(), format!("({}{sub}{when})", field.operation));
        by_owner.entry(owner).or_default().push(&field.path);
    }
    let mut text = String::new();
    for ((manager, how), paths) in by_owner {
        writeln!(text, "\n{} {}", paint.strong(&manager), paint.faint(&how)).unwrap_or_default();
        paths.iter().for_each(|path| writeln!(text, "  {path}").unwrap_or_default());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_tells_file_commit_sync_and_owners() {
        let view: TraceView = serde_json::from_str(
            r#"{"object":{"id":"s:deployment/web","file":"apps/web.yaml","line":7},"live":true,
            "commit":{"revision":"89abcdef01","message":"Add web"},
            "lastApply":{"revision":"0123456789","result":"configured","ended":"2024-01-02T03:04:05.6Z"},
            "fields":[{"path":".spec.replicas","manager":"hpa","operation":"Update","subresource":"scale"},
            {"path":".spec.template","manager":"fluxd","operation":"Apply","time":"2024-01-02T03:04:05Z"}]}"#,
        )
        .unwrap();
        let expected = "\
Object     s:deployment/web
File       apps/web.yaml:7
Commit     89abcde Add web
Last sync  configured at 0123456, 2024-01-02T03:04:05Z
Live       yes

fluxd (Apply, 2024-01-02T03:04:05Z)
  .spec.template

hpa (Update of scale)
  .spec.replicas
";
        assert_eq!(trace(&view, Paint(false)), expected);
    }
}
