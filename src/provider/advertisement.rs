//! Git's advertisement of refs as its smart protocol over HTTP has it: lines with their lengths, a service announcement,
//! then hashes with names (gitprotocol-http). A function of bytes, with limits.

use std::collections::BTreeMap;

/// Refs of one repository.
const REFS: usize = 200_000;

/// The refs of a repository, as name and hash. Annotated tags have the hash of what they point to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refs {
    /// Branches, without `refs/heads/`, in the order of the advertisement.
    pub branches: Vec<(String, String)>,
    /// Tags, without `refs/tags/`, in the order of the advertisement.
    pub tags: Vec<(String, String)>,
}

/// Reads the answer to `info/refs?service=git-upload-pack`.
///
/// # Errors
/// When it is no such answer or ends early; the text shows nothing of the bytes.
pub fn read_refs(body: &[u8]) -> Result<Refs, String> {
    let mut lines = Lines { rest: body };
    let first = lines.next_line()?.ok_or("expected the announcement of a service, found an end")?;
    if first.trim_ascii_end() != b"# service=git-upload-pack" {
        return Err("expected git's advertisement of refs, found something else".to_owned());
    }
    if lines.next_line()?.is_some() {
        return Err("expected an end after the announcement of the service".to_owned());
    }
    let mut refs = Refs::default();
    let mut peeled = BTreeMap::new();
    let mut count = 0;
    while let Some(line) = lines.next_line()? {
        count += 1;
        if count > REFS {
            return Err(format!("the repository has more than {REFS} refs"));
        }
        if line.starts_with(b"ERR ") {
            return Err("the server refuses to list its refs".to_owned());
        }
        // the first line also says what the server can do
        let line = line.split(|byte| *byte == 0).next().unwrap_or(line).trim_ascii_end();
        let line = std::str::from_utf8(line).map_err(|_| "a ref's name is no text".to_owned())?;
        let (hash, name) = line.split_once(' ').ok_or("expected a hash and a name on each line")?;
        if !matches!(hash.len(), 40 | 64) || !hash.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err("expected a hash at the beginning of each line".to_owned());
        }
        if let Some(branch) = name.strip_prefix("refs/heads/") {
            refs.branches.push((branch.to_owned(), hash.to_owned()));
        } else if let Some(tag) = name.strip_prefix("refs/tags/") {
            match tag.strip_suffix("^{}") {
                Some(tag) => drop(peeled.insert(tag.to_owned(), hash.to_owned())),
                None => refs.tags.push((tag.to_owned(), hash.to_owned())),
            }
        }
    }
    for (tag, hash) in &mut refs.tags {
        if let Some(commit) = peeled.get(tag) {
            hash.clone_from(commit);
        }
    }
    Ok(refs)
}

struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Lines<'a> {
    /// The next line; `None` at the end of a section.
    fn next_line(&mut self) -> Result<Option<&'a [u8]>, String> {
        let short = || "git's advertisement of refs ends early".to_owned();
        let (length, rest) = self.rest.split_at_checked(4).ok_or_else(short)?;
        let digits = std::str::from_utf8(length).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
        let length = digits.and_then(|text| usize::from_str_radix(text, 16).ok());
        match length.ok_or("expected git's advertisement of refs, found something else")? {
            0 => {
                self.rest = rest;
                Ok(None)
            }
            1..4 => Err("a line of git's advertisement of refs has no length".to_owned()),
            length => {
                let (line, rest) = rest.split_at_checked(length - 4).ok_or_else(short)?;
                self.rest = rest;
                Ok(Some(line))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    fn line(text: &str) -> String {
        format!("{:04x}{text}", text.len() + 4)
    }

    fn advertised(lines: &[String]) -> String {
        format!("{}0000{}0000", line("# service=git-upload-pack\n"), lines.concat())
    }

    #[test]
    fn branches_and_tags_are_read_and_peeled_hashes_win() {
        let text = advertised(&[
            line(&format!("{A} HEAD\0multi_ack symref=HEAD:refs/heads/main\n")),
            line(&format!("{A} refs/heads/main\n")),
            line(&format!("{B} refs/heads/feat/x\n")),
            line(&format!("{A} refs/pull/1/head\n")),
            line(&format!("{A} refs/tags/1.0.0\n")),
            line(&format!("{B} refs/tags/1.0.0^{{}}\n")),
            line(&format!("{A} refs/tags/2.0.0\n")),
        ]);
        let refs = read_refs(text.as_bytes()).unwrap();
        let pair = |name: &str, hash: &str| (name.to_owned(), hash.to_owned());
        assert_eq!(refs.branches, [pair("main", A), pair("feat/x", B)]);
        assert_eq!(refs.tags, [pair("1.0.0", B), pair("2.0.0", A)]);
    }

    #[test]
    fn a_repository_without_commits_has_no_refs() {
        let zero = "0".repeat(40);
        let text = advertised(&[line(&format!("{zero} capabilities^{{}}\0agent=x\n"))]);
        assert_eq!(read_refs(text.as_bytes()).unwrap(), Refs::default());
        assert_eq!(read_refs(advertised(&[]).as_bytes()).unwrap(), Refs::default());
    }

    #[test]
    fn what_is_no_advertisement_is_refused() {
        let whole = advertised(&[line(&format!("{A} refs/heads/main\n"))]);
        let cut = &whole[..whole.len() - 8];
        for (text, said) in [
            ("<html>hunter2", "found something else"),
            ("", "ends early"),
            ("0003", "has no length"),
            ("0000", "found an end"),
            (cut, "ends early"),
            (&whole[..whole.len() - 4], "ends early"),
            (&advertised(&[line("hunter2 refs/heads/main\n")]), "expected a hash"),
            (&advertised(&[line("ERR hunter2\n")]), "refuses"),
        ] {
            let refusal = read_refs(text.as_bytes()).unwrap_err();
            assert!(refusal.contains(said) && !refusal.contains("hunter2"), "{text}: {refusal}");
        }
    }
}
