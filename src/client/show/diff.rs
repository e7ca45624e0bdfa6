//! A plan as people read it: what would come, change, go, and wait, with the fields. Values of secrets are masked here
//! once more, whatever the daemon sent.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use super::Paint;
use crate::object::yaml;
use crate::report::{FieldDiff, HeldView, PlanView, StepView};

/// Lines around a change in a text of several lines.
const CONTEXT: usize = 3;

/// Masks the values of secrets in a plan, for forms that show it as it is.
pub fn mask(view: &mut PlanView) {
    for step in &mut view.steps {
        let kind = step.kind.clone();
        for field in step.diff.iter_mut().flatten() {
            let path = field.path.clone();
            let hide = |value: Value| masked(&kind, &path, &value).into_owned();
            (field.before, field.after) = (field.before.take().map(hide), field.after.take().map(hide));
        }
    }
}

/// The plan. Steps that keep an object are there only when the daemon was asked for all.
pub fn plan(view: &PlanView, paint: Paint) -> String {
    let mut text = String::new();
    for step in &view.steps {
        step_lines(&mut text, step, paint);
    }
    // Writing into a String cannot fail, here and below.
    if view.diffs_left_out > 0 {
        let left_out = format!("The fields of {} more objects are not shown.\n", view.diffs_left_out);
        text.push_str(&paint.faint(&left_out));
    }
    if let Some(held) = view.held.as_ref().filter(|held| !held.deletes.is_empty()) {
        held_lines(&mut text, held, paint);
    }
    if let Some(off) = &view.gc.off {
        writeln!(text, "Nothing is deleted: {off}.").unwrap_or_default();
    }
    let counts = counts(view);
    let from = short(&view.revision);
    let from = if from.is_empty() { String::new() } else { format!(" at {from}") };
    writeln!(text, "{}{counts}, {} unchanged{from}.", if text.is_empty() { "" } else { "\n" }, view.kept)
        .unwrap_or_default();
    text
}

fn counts(view: &PlanView) -> String {
    let mut words = Vec::new();
    for (action, word) in
        [("apply", "to apply"), ("delete", "to delete"), ("hold", "held"), ("skip", "skipped"), ("reject", "rejected")]
    {
        let count = view.steps.iter().filter(|step| step.action == action).count();
        if count > 0 {
            words.push(format!("{count} {word}"));
        }
    }
    if words.is_empty() { "Nothing to do".to_owned() } else { words.join(", ") }
}

/// The first seven characters of a revision.
pub(super) fn short(revision: &str) -> &str {
    revision.get(..7).unwrap_or(revision)
}

fn step_lines(text: &mut String, step: &StepView, paint: Paint) {
    let reason = step.reason.as_deref().unwrap_or_default();
    let head = |sign: &str| format!("{sign} {}", step.id);
    let head = match step.action.as_str() {
        "apply" if reason == "new" => paint.added(&head("+")),
        "apply" => paint.changed(&head("~")),
        "delete" => paint.removed(&head("-")),
        "hold" => paint.changed(&head("!")),
        "reject" => paint.removed(&head("x")),
        _ => paint.faint(&head("=")),
    };
    text.push_str(&head);
    let mut notes: Vec<Cow<'_, str>> = Vec::new();
    if !reason.is_empty() {
        notes.push(reason.into());
    }
    if step.take_over {
        notes.push("fields of kubectl become ours".into());
    }
    if step.clash {
        notes.push("carries the mark of another fluxd".into());
    }
    if !notes.is_empty() {
        write!(text, " ({})", notes.join("; ")).unwrap_or_default();
    }
    if let Some(file) = &step.file {
        let line = step.line.map_or_else(String::new, |line| format!(":{line}"));
        let place = format!(
            " {file}{}{}",
            if step.generated { "" } else { &line },
            if step.generated { " (generated)" } else { "" }
        );
        text.push_str(&paint.faint(&place));
    }
    text.push('\n');
    if let Some(error) = &step.diff_error {
        writeln!(text, "    {}", paint.removed(&format!("fields unknown: {error}"))).unwrap_or_default();
    }
    for field in step.diff.iter().flatten() {
        field_lines(text, &step.kind, field, paint);
    }
}

/// One field: `path: before -> after`, or the lines that differ where a text has several.
fn field_lines(text: &mut String, kind: &str, field: &FieldDiff, paint: Paint) {
    let before = field.before.as_ref().map(|value| masked(kind, &field.path, value));
    let after = field.after.as_ref().map(|value| masked(kind, &field.path, value));
    let (sign, values) = match (before.as_deref(), after.as_deref()) {
        (Some(Value::String(before)), Some(Value::String(after))) if before.contains('\n') || after.contains('\n') => {
            writeln!(text, "    {} {}:", paint.changed("~"), field.path).unwrap_or_default();
            return line_diff(text, before, after, paint);
        }
        (None, Some(object)) if field.path.is_empty() => return whole(text, object, |line| paint.added(line), '+'),
        (Some(object), None) if field.path.is_empty() => return whole(text, object, |line| paint.removed(line), '-'),
        (None, Some(after)) => (paint.added("+"), paint.added(&one_line(after))),
        (Some(before), None) => (paint.removed("-"), paint.removed(&one_line(before))),
        (Some(before), Some(after)) => {
            let both = format!("{} -> {}", paint.removed(&one_line(before)), paint.added(&one_line(after)));
            (paint.changed("~"), both)
        }
        (None, None) => return,
    };
    writeln!(text, "    {sign} {}: {values}", field.path).unwrap_or_default();
}

/// An object that comes or goes, as YAML.
fn whole(text: &mut String, object: &Value, paint: impl Fn(&str) -> String, sign: char) {
    for line in yaml::write(object).lines() {
        writeln!(text, "    {}", paint(&format!("{sign} {line}"))).unwrap_or_default();
    }
}

fn line_diff(text: &mut String, before: &str, after: &str, paint: Paint) {
    let diff = TextDiff::from_lines(before, after);
    for group in diff.grouped_ops(CONTEXT) {
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let line = change.value().trim_end_matches('\n');
            let shown = match change.tag() {
                ChangeTag::Delete => paint.removed(&format!("- {line}")),
                ChangeTag::Insert => paint.added(&format!("+ {line}")),
                ChangeTag::Equal => format!("  {line}"),
            };
            writeln!(text, "        {shown}").unwrap_or_default();
        }
    }
}

fn one_line(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() && !text.contains(['\n', '"', ' ']) => text.clone(),
        other => other.to_string(),
    }
}

/// A value that may be shown.
fn masked<'v>(kind: &str, path: &str, value: &'v Value) -> Cow<'v, Value> {
    let secret =
        kind == "Secret" && (path.is_empty() || ["/data", "/stringData"].iter().any(|field| path.starts_with(field)));
    match value {
        _ if !secret => Cow::Borrowed(value),
        Value::String(text) if text.starts_with("***") => Cow::Borrowed(value),
        Value::Object(map) if path.is_empty() => {
            let shown =
                map.iter().map(|(key, value)| (key.clone(), masked(kind, &format!("/{key}"), value).into_owned()));
            Cow::Owned(Value::Object(shown.collect()))
        }
        Value::Object(map) => {
            Cow::Owned(Value::Object(map.keys().map(|key| (key.clone(), Value::String("***".into()))).collect()))
        }
        _ => Cow::Owned(Value::String("***".into())),
    }
}

/// Deletes that wait, and how they are let through.
fn held_lines(text: &mut String, held: &HeldView, paint: Paint) {
    let head = format!("{} deletes are held: {}.", held.deletes.len(), held.reason);
    writeln!(text, "\n{}", paint.changed(&head)).unwrap_or_default();
    for delete in &held.deletes {
        writeln!(text, "  - {} ({})", delete.id, delete.reason).unwrap_or_default();
    }
    writeln!(text, "To let them through: fluxctl sync --allow-deletes={}", held.digest).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"{"revision":"0123456789","reach":"whole","fresh":true,"kept":7,"gc":{"managed":9},
        "held":{"digest":"abc","reason":"more deletes than the budget allows","deletes":[{"id":"s:service/old","uid":"u","reason":"budget"}]},
        "steps":[
        {"id":"s:deployment/new","action":"apply","reason":"new","file":"a.yaml","line":3},
        {"id":"s:configmap/c","kind":"ConfigMap","action":"apply","reason":"changed","file":"gen/.flux.yaml","line":1,"generated":true,
         "diff":[{"path":"/data/a","before":"1","after":"2"},{"path":"/data/b","after":"x y"},{"path":"/data/c","before":true},
                 {"path":"/data/long","before":"one\ntwo\n","after":"one\nthree\n"}]},
        {"id":"s:secret/k","kind":"Secret","action":"apply","reason":"changed","diff":[{"path":"/data/token","before":"c2VjcmV0","after":"*** (changed)"},
         {"path":"/data","after":{"a":"c2VjcmV0"}},{"path":"","after":{"kind":"Secret","stringData":{"b":"secret"}}}]},
        {"id":"s:service/old","action":"hold","reason":"more deletes than the budget allows"},
        {"id":"s:service/gone","action":"delete"}]}"#;

    fn shown(paint: bool) -> String {
        plan(&serde_json::from_str(PLAN).unwrap(), Paint(paint))
    }

    #[test]
    fn a_plan_says_what_comes_changes_goes_and_waits() {
        let expected = "\
+ s:deployment/new (new) a.yaml:3
~ s:configmap/c (changed) gen/.flux.yaml (generated)
    ~ /data/a: 1 -> 2
    + /data/b: \"x y\"
    - /data/c: true
    ~ /data/long:
          one
        - two
        + three
~ s:secret/k (changed)
    ~ /data/token: *** -> \"*** (changed)\"
    + /data: {\"a\":\"***\"}
    + kind: Secret
    + stringData:
    +   b: '***'
! s:service/old (more deletes than the budget allows)
- s:service/gone

1 deletes are held: more deletes than the budget allows.
  - s:service/old (budget)
To let them through: fluxctl sync --allow-deletes=abc

3 to apply, 1 to delete, 1 held, 7 unchanged at 0123456.
";
        assert_eq!(shown(false), expected);
    }

    #[test]
    fn no_secret_is_shown_with_or_without_colours() {
        for paint in [false, true] {
            let text = shown(paint);
            assert!(!text.contains("c2VjcmV0") && !text.contains(":\"secret\""), "{text}");
        }
    }

    #[test]
    fn a_plan_without_steps_says_so_in_one_line() {
        let view: PlanView = serde_json::from_str(r#"{"revision":"","kept":3}"#).unwrap();
        assert_eq!(plan(&view, Paint(false)), "Nothing to do, 3 unchanged.\n");
    }
}
