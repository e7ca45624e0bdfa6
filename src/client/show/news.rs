//! One piece of news as one line.

use super::Paint;
use super::diff::short;
use crate::report::News;

/// The line, without its end.
pub fn news(news: &News, paint: Paint) -> String {
    match news {
        News::Job { id, state, revision, error } => {
            let revision = if revision.is_empty() { String::new() } else { format!(" {}", short(revision)) };
            let error = if error.is_empty() { String::new() } else { format!(": {}", paint.removed(error)) };
            format!("job {id} {state}{revision}{error}")
        }
        News::Progress { stage, done, total, failed } => {
            let failed = if *failed == 0 { String::new() } else { paint.removed(&format!(", {failed} failed")) };
            paint.faint(&format!("sync: {stage} {done}/{total}")) + &failed
        }
        News::Sync { revision, success, counts, error } => {
            let counts: Vec<String> = counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
            let word = if *success { paint.added("synced") } else { paint.removed("sync failed") };
            let error = error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
            format!("{word} {} {}{error}", short(revision), counts.join(", "))
        }
        News::Event { text, .. } => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_one_line_each() {
        for (json, line) in [
            (r#"{"type":"job","id":"j","state":"failed","error":"no"}"#, "job j failed: no"),
            (r#"{"type":"progress","stage":"apply","done":1,"total":3,"failed":0}"#, "sync: apply 1/3"),
            (
                r#"{"type":"sync","revision":"0123456789","success":true,"counts":{"created":2}}"#,
                "synced 0123456 2 created",
            ),
            (r#"{"type":"event","text":"Sync: x","event":{}}"#, "Sync: x"),
        ] {
            assert_eq!(news(&serde_json::from_str(json).unwrap(), Paint(false)), line);
        }
    }
}
