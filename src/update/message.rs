//! Messages of commits, which people parse (fluxd-v1 §2.7).

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::object::ObjectId;
use crate::report::{
    ALL_LATEST, ALL_WORKLOADS, AutoChange, Cause, ContainersRelease, Detail, Event, ImageRelease, PolicyEvent,
    PolicyUpdate, ResultSet, Update, UpdateSpec,
};

/// The message of the commit that carries out an update. `skip` is put behind it as it is (`[ci skip]`), and then white
/// space is cleaned up as `git commit --file` does.
pub fn commit(spec: &UpdateSpec, results: &ResultSet, skip: &str) -> String {
    let text = match &spec.update {
        Update::Policy(updates) => policies(updates, &spec.cause),
        Update::Sync => String::new(),
        _ if !spec.cause.message.is_empty() => spec.cause.message.clone(),
        Update::Image(release) => image(release),
        Update::Containers(release) => containers(release, results),
        Update::Auto(changes) => automated(changes, results),
    };
    clean(&(text + skip))
}

/// Git's clean-up of white space: none at the end of lines, no blank lines at the beginning and at the end, one where
/// there were several, and a newline after the last line.
fn clean(text: &str) -> String {
    let mut out = String::new();
    let mut blank = false;
    for line in text.lines().map(str::trim_ascii_end) {
        if line.is_empty() {
            blank = !out.is_empty();
            continue;
        }
        if std::mem::take(&mut blank) {
            out.push('\n');
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

fn image(release: &ImageRelease) -> String {
    let plain = |text: &str| match text {
        ALL_LATEST => "all latest".to_owned(),
        ALL_WORKLOADS => "all".to_owned(),
        other => other.to_owned(),
    };
    let workloads: Vec<_> = release.workloads.iter().flatten().map(|w| plain(w)).collect();
    format!("Release {} to {}", plain(&release.image), workloads.join(", "))
}

fn containers(release: &ContainersRelease, results: &ResultSet) -> String {
    let mut changed = results.changed();
    if changed.is_empty() {
        changed = release.workloads.keys().cloned().collect();
    }
    let ids: Vec<_> = changed.iter().map(ToString::to_string).collect();
    let mut text = format!("Update image refs in {}\n", ids.join(", "));
    for (id, result) in results.0.iter().filter(|(_, result)| result.status == "success") {
        text += &format!("\n{id}\n");
        text.extend(result.containers.iter().map(|container| format!("- {}\n", container.target)));
    }
    let error = results.error();
    if error.is_empty() { text } else { format!("{text}\n{error}\n") }
}

fn automated(changes: &[AutoChange], results: &ResultSet) -> String {
    let changed: BTreeSet<_> = results.changed().into_iter().collect();
    let mine = changes.iter().filter(|change| changed.contains(&change.workload));
    let images: BTreeSet<&str> = mine.map(|change| change.target.as_str()).collect();
    match images.len() {
        0 => "Auto-release (no images)".to_owned(),
        1 => format!("Auto-release {}", images.into_iter().collect::<String>()),
        n => {
            let lines: String = images.into_iter().map(|image| format!(" - {image}\n")).collect();
            format!("Auto-release multiple ({n}) images\n\n{lines}")
        }
    }
}

/// One line per kind of change; a message of the user's, or several kinds, make them a list. All that was asked for is
/// told, as in v1, also of objects that were as asked for already.
fn policies(updates: &BTreeMap<ObjectId, PolicyUpdate>, cause: &Cause) -> String {
    let mut kinds: BTreeMap<PolicyEvent, Vec<ObjectId>> = BTreeMap::new();
    for (id, update) in updates {
        for kind in events(update) {
            kinds.entry(kind).or_default().push(id.clone());
        }
    }
    let lines: Vec<String> = kinds.into_iter().map(|(kind, ids)| line(kind, ids)).collect();
    let list = || lines.iter().map(|line| format!("- {line}\n")).collect::<String>();
    match lines.as_slice() {
        _ if !cause.message.is_empty() => format!("{}\n\n{}", cause.message, list()),
        [line] => format!("{line}\n"),
        _ => format!("Updated workload policies\n\n{}", list()),
    }
}

fn events(update: &PolicyUpdate) -> BTreeSet<PolicyEvent> {
    let added = update.add.keys().map(|policy| match policy.as_str() {
        "automated" => PolicyEvent::Automate,
        "locked" => PolicyEvent::Lock,
        _ => PolicyEvent::Update,
    });
    let removed = update.remove.keys().map(|policy| match policy.as_str() {
        "automated" => PolicyEvent::Deautomate,
        "locked" => PolicyEvent::Unlock,
        _ => PolicyEvent::Update,
    });
    added.chain(removed).collect()
}

/// The event's own text.
fn line(kind: PolicyEvent, ids: Vec<ObjectId>) -> String {
    let never = Timestamp::UNIX_EPOCH;
    Event { ids, started: never, ended: never, detail: Detail::Policy(kind) }.to_string()
}
