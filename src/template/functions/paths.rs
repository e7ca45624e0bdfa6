//! Slash-separated paths, as Go's `path` has them; those of the operating system are the same.

use super::Type::Text;
use super::{Context, Definition, Given, Value, function, text};

pub(super) const FUNCTIONS: &[Definition] = &[
    function("base", &[Text], base),
    function("osBase", &[Text], base),
    function("dir", &[Text], dir),
    function("osDir", &[Text], dir),
    function("clean", &[Text], |_, args| Ok(clean(text(args, 0)).into())),
    function("osClean", &[Text], |_, args| Ok(clean(text(args, 0)).into())),
    function("ext", &[Text], ext),
    function("osExt", &[Text], ext),
    function("isAbs", &[Text], is_abs),
    function("osIsAbs", &[Text], is_abs),
];

fn base(_: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let path = text(args, 0);
    if path.is_empty() {
        return Ok(".".into());
    }
    let end = path.iter().rposition(|b| *b != b'/').map_or(0, |at| at + 1);
    let name = path[..end].rsplit(|b| *b == b'/').next().unwrap_or_default();
    Ok(if name.is_empty() { "/".into() } else { name.into() })
}

fn dir(_: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let path = text(args, 0);
    let end = path.iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
    Ok(clean(&path[..end]).into())
}

fn ext(_: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let name = text(args, 0).rsplit(|b| *b == b'/').next().unwrap_or_default();
    Ok(name.iter().rposition(|b| *b == b'.').map_or(&[] as &[u8], |at| &name[at..]).into())
}

fn is_abs(_: &mut Context<'_, '_>, args: &[Value]) -> Given {
    Ok(text(args, 0).starts_with(b"/").into())
}

/// The shortest path to the same place.
fn clean(path: &[u8]) -> Vec<u8> {
    let is_absolute = path.starts_with(b"/");
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|b| *b == b'/') {
        match part {
            b"" | b"." => {}
            b".." if parts.last().is_some_and(|last| *last != b"..") => {
                parts.pop();
            }
            b".." if is_absolute => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join(b"/".as_slice());
    match (is_absolute, joined.is_empty()) {
        (true, _) => [b"/", joined.as_slice()].concat(),
        (false, true) => b".".to_vec(),
        (false, false) => joined,
    }
}
