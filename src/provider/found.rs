//! What git hosts know: branches, tags, change requests, environments; and how each is exported (resourceset §8.2).

use std::collections::HashMap;
use std::ops::ControlFlow;

use serde_json::Value;

use super::export::{InputSet, id_of};
use super::filter::Filters;

/// What a git host lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Branches,
    Tags,
    Requests,
    Environments,
}

impl What {
    /// As errors call it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Branches => "branches",
            Self::Tags => "tags",
            Self::Requests => "requests",
            Self::Environments => "environments",
        }
    }
}

/// One thing found. Empty texts are not exported, but for `id` and `sha`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) sha: String,
    pub(super) branch: String,
    pub(super) tag: String,
    pub(super) title: String,
    pub(super) author: String,
    pub(super) slug: String,
    pub(super) labels: Vec<String>,
}

impl Found {
    /// A branch.
    pub(super) fn branch(name: &str, sha: &str) -> Self {
        Self { id: id_of(name), sha: sha.to_owned(), branch: name.to_owned(), ..Self::default() }
    }

    /// A tag.
    pub(super) fn tag(name: &str, sha: &str) -> Self {
        Self { id: id_of(name), sha: sha.to_owned(), tag: name.to_owned(), ..Self::default() }
    }

    /// As it is exported.
    pub(super) fn export(self) -> InputSet {
        let mut set = InputSet::new();
        set.insert("id".to_owned(), Value::String(self.id));
        set.insert("sha".to_owned(), Value::String(self.sha));
        let optional = [
            ("branch", self.branch),
            ("tag", self.tag),
            ("title", self.title),
            ("author", self.author),
            ("slug", self.slug),
        ];
        for (key, value) in optional {
            if !value.is_empty() {
                set.insert(key.to_owned(), Value::String(value));
            }
        }
        if !self.labels.is_empty() {
            set.insert("labels".to_owned(), self.labels.into_iter().map(Value::String).collect());
        }
        set
    }
}

/// Gathers what passes the filter, in the host's order, until there is enough.
pub(super) struct Gathered<'a> {
    filters: &'a Filters,
    /// What passed.
    pub(super) found: Vec<Found>,
}

impl<'a> Gathered<'a> {
    pub(super) fn new(filters: &'a Filters) -> Self {
        Self { filters, found: Vec::new() }
    }

    /// Takes what passes by this name; breaks when there is enough.
    pub(super) fn offer(&mut self, name: &str, found: impl FnOnce() -> Found) -> ControlFlow<()> {
        if self.filters.admits(name) {
            self.found.push(found());
        }
        if self.found.len() >= self.filters.limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// The same for a change request, which also needs the labels.
    pub(super) fn offer_request(&mut self, found: Found) -> ControlFlow<()> {
        if !self.filters.admits_labels(&found.labels) {
            return ControlFlow::Continue(());
        }
        let name = found.branch.clone();
        self.offer(&name, || found)
    }
}

/// Chooses among all tags, given as name and hash. The last hash of a name counts for all of its occurrences.
pub(super) fn choose_tags(all: &[(String, String)], filters: &Filters) -> Vec<Found> {
    let names: Vec<String> = all.iter().map(|(name, _)| name.clone()).collect();
    let hashes: HashMap<&str, &str> = all.iter().map(|(name, sha)| (name.as_str(), sha.as_str())).collect();
    filters
        .select_tags(&names)
        .iter()
        .map(|name| Found::tag(name, hashes.get(name.as_str()).copied().unwrap_or_default()))
        .collect()
}

/// GitLab's slug of a name: small letters, digits and hyphens, at most 63 of them.
pub(super) fn slug(name: &str) -> String {
    let plain: String = name
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' { c } else { '-' })
        .take(63)
        .collect();
    plain.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::filter::Filter;
    use super::*;
    use serde_json::json;

    #[test]
    fn slugs_are_those_of_gitlab() {
        for (name, want) in
            [("6.0.4", "6-0-4"), ("Feature/ABC_1", "feature-abc-1"), ("--a//b--", "a--b"), ("é", ""), ("x", "x")]
        {
            assert_eq!(slug(name), want, "{name}");
        }
        assert_eq!(slug(&"a.".repeat(40)).len(), 63);
        assert_eq!(slug(&format!("{}.", "a".repeat(62))).len(), 62);
    }

    #[test]
    fn empty_fields_are_not_exported_but_for_id_and_sha() {
        let bare = Found { id: "1".to_owned(), ..Found::default() };
        assert_eq!(Value::Object(bare.export()), json!({"id": "1", "sha": ""}));
        let whole = Found {
            title: "t".to_owned(),
            author: "a".to_owned(),
            slug: "s".to_owned(),
            labels: vec!["x".to_owned()],
            ..Found::branch("main", "c0ffee")
        };
        let want = json!({"id": id_of("main"), "sha": "c0ffee", "branch": "main", "title": "t", "author": "a", "slug": "s",
                          "labels": ["x"]});
        assert_eq!(Value::Object(whole.export()), want);
    }

    #[test]
    fn the_last_hash_of_a_tag_counts() {
        let pair = |name: &str, sha: &str| (name.to_owned(), sha.to_owned());
        let all = [pair("1.0.0", "old"), pair("2.0.0", "x"), pair("1.0.0", "new")];
        let chosen = choose_tags(&all, &Filters::new(&Filter::default()).unwrap());
        let shown: Vec<_> = chosen.iter().map(|found| (found.tag.as_str(), found.sha.as_str())).collect();
        assert_eq!(shown, [("2.0.0", "x"), ("1.0.0", "new"), ("1.0.0", "new")]);
    }
}
