//! Who makes a commit: names and addresses by git's own rules, and times in UTC.

use git2::Signature;

use super::Error;
use super::mirror::Mirror;
use super::repo::Inner;
use super::run::{Call, failure_text};
use crate::runtime::Stop;

/// A name, an address, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Person {
    name: String,
    email: String,
    seconds: i64,
}

impl Person {
    /// Someone now. What git drops from names and addresses is dropped.
    pub(super) fn now(name: &str, email: &str) -> Self {
        Self { name: clean(name), email: clean(email), seconds: jiff::Timestamp::now().as_second() }
    }

    /// Whether the name or address is empty, on which git has an opinion of its own.
    pub(super) fn is_partial(&self) -> bool {
        self.name.is_empty() || self.email.is_empty()
    }

    pub(super) fn signature(&self) -> Result<Signature<'static>, git2::Error> {
        Signature::new(&self.name, &self.email, &git2::Time::new(self.seconds, 0))
    }

    /// The variables by which the git program is told, without their common beginning.
    pub(super) fn environment(&self) -> [(&'static str, String); 3] {
        [("NAME", self.name.clone()), ("EMAIL", self.email.clone()), ("DATE", format!("@{} +0000", self.seconds))]
    }
}

/// The author that a text names: `Name <email>`, else the newest author whose name or address contains it, as
/// `git commit --author` has it.
pub(super) async fn author(inner: &Inner, mirror: &Mirror, text: &str, stop: &Stop) -> Result<Person, Error> {
    if let Some((name, email)) = split(text) {
        return Ok(Person::now(name, email));
    }
    let pattern = format!("--author={text}");
    let args = ["log", "--all", "-1", "-i", "--use-mailmap", "--format=%aN <%aE>", &pattern, "--"];
    let printed = inner.git.run(Call::new("git commit: ", args).cwd(mirror.path()), stop).await?;
    let printed = String::from_utf8_lossy(&printed);
    let (name, email) = split(printed.trim_end()).ok_or_else(|| {
        let text = format!("fatal: --author '{text}' is not 'Name <email>' and matches no existing author\n");
        Error::Git { prefix: "git commit: ".to_owned(), message: failure_text(&text) }
    })?;
    Ok(Person::now(name, email))
}

fn split(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once('<')?;
    let (email, _) = rest.split_once('>')?;
    Some((name.trim(), email.trim()))
}

/// Git's clean-up: no brackets and line ends, no punctuation around.
fn clean(text: &str) -> String {
    let is_crud = |c: char| c <= ' ' || matches!(c, '.' | ',' | ':' | ';' | '<' | '>' | '"' | '\\' | '\'');
    text.trim_matches(is_crud).chars().filter(|c| !matches!(c, '<' | '>' | '\n' | '\0')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_author_has_a_name_and_an_address_in_brackets() {
        for (text, want) in [
            ("Ann <ann@example.com>", Some(("Ann", "ann@example.com"))),
            (" Ann Smith  < ann@example.com > (x)", Some(("Ann Smith", "ann@example.com"))),
            ("Ann <>", Some(("Ann", ""))),
            ("<ann@example.com>", Some(("", "ann@example.com"))),
            ("Ann", None),
            ("Ann <ann", None),
        ] {
            assert_eq!(split(text), want, "{text}");
        }
    }

    #[test]
    fn a_name_cannot_add_lines_to_a_commit() {
        let person = Person::now("\"Ann\nparent 1234\" ", "<ann@example.com>");
        assert_eq!((&*person.name, &*person.email), ("Annparent 1234", "ann@example.com"));
        assert!(person.signature().is_ok() && !person.is_partial());
        assert!(Person::now(" . ", "a@b").is_partial());
    }
}
