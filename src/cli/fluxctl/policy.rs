//! `automate`, `deautomate`, `lock`, `unlock` and `policy`: annotations of one workload.

use std::collections::BTreeMap;
use std::iter;

use super::job;
use super::problem::Problem;
use super::session::Session;
use super::verbs::Action;
use crate::object::Pattern;
use crate::report::{Cause, PolicyUpdate, Update, UpdateSpec};

/// What is asked for.
#[derive(Debug, Default)]
struct Wish {
    automate: bool,
    deautomate: bool,
    lock: bool,
    unlock: bool,
    /// Container and pattern.
    tags: Vec<(String, String)>,
    tag_all: String,
}

/// Runs one of the verbs.
pub(super) async fn run(session: &Session<'_>, action: Action) -> Result<(), Problem> {
    let workload = session.given.text("workload");
    if workload.is_empty() {
        return Err(Problem::Usage("-w, --workload is required".to_owned()));
    }
    let id = session.id(&workload)?;
    let wish = wish(session, action)?;
    let client = session.connect().await?;
    let cause = session.cause().await;
    let changes = BTreeMap::from([(id, update(&wish, &cause))]);
    let result = job::run(session, &client, &UpdateSpec { cause, update: Update::Policy(changes) }).await?;
    job::conclude(session, &client, &result, false).await
}

fn wish(session: &Session<'_>, action: Action) -> Result<Wish, Problem> {
    let on = |name| action == Action::Policy && session.given.bool(name);
    let mut wish = Wish {
        automate: action == Action::Automate || on("automate"),
        deautomate: action == Action::Deautomate || on("deautomate"),
        lock: action == Action::Lock || on("lock"),
        unlock: action == Action::Unlock || on("unlock"),
        ..Wish::default()
    };
    for (one, other) in
        [(wish.automate && wish.deautomate, "automate and deautomate"), (wish.lock && wish.unlock, "lock and unlock")]
    {
        if one {
            return Err(Problem::Usage(format!("{other} both specified")));
        }
    }
    if action == Action::Policy {
        wish.tag_all = session.given.text("tag-all");
        wish.tags = session.given.list("tag").iter().map(|pair| tag(pair)).collect::<Result<_, _>>()?;
    }
    Ok(wish)
}

fn tag(pair: &str) -> Result<(String, String), Problem> {
    let bad = || Problem::Usage(format!("invalid container/tag pair: {pair:?}. Expected format is 'container=filter'"));
    let (container, pattern) = pair.split_once('=').filter(|(_, pattern)| !pattern.contains('=')).ok_or_else(bad)?;
    Ok((container.to_owned(), pattern.to_owned()))
}

/// The policies to set and to remove. A lock says who and why when it is known who (fluxd-v1 §11).
fn update(wish: &Wish, cause: &Cause) -> PolicyUpdate {
    const YES: &str = "true";
    // As v1's client sends them: both lists, also an empty one.
    let mut update = PolicyUpdate { add: iter::empty().collect(), remove: iter::empty().collect() };
    let mut add = |policy: &str, value: &str| update.add.insert(policy.to_owned(), value.to_owned());
    if wish.automate {
        add("automated", YES);
    }
    if wish.lock {
        add("locked", YES);
        if !cause.user.is_empty() {
            add("locked_user", &cause.user);
            add("locked_msg", &cause.message);
        }
    }
    if !wish.tag_all.is_empty() {
        add("tag_all", &Pattern::parse(&wish.tag_all).to_string());
    }
    for (container, pattern) in wish.tags.iter().filter(|(_, pattern)| pattern != "*") {
        add(&format!("tag.{container}"), &Pattern::parse(pattern).to_string());
    }
    let mut remove = |policy: &str| update.remove.insert(policy.to_owned(), YES.to_owned());
    if wish.deautomate {
        remove("automated");
    }
    if wish.unlock {
        ["locked", "locked_msg", "locked_user"].into_iter().for_each(|policy| {
            remove(policy);
        });
    }
    for (container, _) in wish.tags.iter().filter(|(_, pattern)| pattern == "*") {
        remove(&format!("tag.{container}"));
    }
    update
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::go_json;

    fn json(wish: &Wish, user: &str) -> String {
        let cause = Cause { user: user.to_owned(), message: "why".to_owned() };
        String::from_utf8(go_json(&update(wish, &cause)).unwrap()).unwrap()
    }

    #[test]
    fn a_lock_tells_who_and_why_only_when_it_is_known_who() {
        let lock = Wish { lock: true, ..Wish::default() };
        assert_eq!(json(&lock, ""), r#"{"add":{"locked":"true"},"remove":{}}"#);
        assert_eq!(
            json(&lock, "Joe"),
            r#"{"add":{"locked":"true","locked_msg":"why","locked_user":"Joe"},"remove":{}}"#
        );
    }

    #[test]
    fn a_star_removes_a_filter_and_other_patterns_get_their_prefix() {
        let tags = ["foo=*", "bar=glob:*", "baz=1.*", "s=semver:~1", "r=regex:^a", "e="];
        let wish =
            Wish { tags: tags.iter().map(|t| tag(t).unwrap()).collect(), tag_all: "*".into(), ..Wish::default() };
        let expected = r#"{"add":{"tag.bar":"glob:*","tag.baz":"glob:1.*","tag.e":"glob:","tag.r":"regexp:^a","tag.s":"semver:~1","tag_all":"glob:*"},"remove":{"tag.foo":"true"}}"#;
        assert_eq!(json(&wish, ""), expected);
    }

    #[test]
    fn a_pair_has_exactly_one_equals_sign() {
        for bad in ["foo", "foo=bar=baz"] {
            let text = tag(bad).unwrap_err().to_string();
            assert_eq!(text, format!("invalid container/tag pair: {bad:?}. Expected format is 'container=filter'"));
        }
    }
}
