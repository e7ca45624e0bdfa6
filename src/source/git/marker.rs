//! The tag that says how far the cluster was synced (fluxd-v1 §2.9). It is pushed alone and may be moved anywhere; the
//! branch is never touched.

use super::repo::Inner;
use super::run::Call;
use super::{Error, Verify, history};
use crate::tree::Revision;

/// The commit that the tag names. A tag without a good signature is an error when signatures are asked for.
pub(super) async fn read(inner: &Inner) -> Result<Option<Revision>, Error> {
    let mirror = inner.open()?;
    let name = inner.settings.sync_tag.clone();
    let full = format!("refs/tags/{name}");
    let found = match mirror.read(move |repository| history::resolve(repository, &full)).await {
        Ok(found) => found,
        Err(Error::UnknownRevision(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    if inner.settings.verify != Verify::None {
        let call = Call::new(format!("verifying tag {name}: "), ["verify-tag", "--", &name]).cwd(mirror.path());
        match inner.git.run(call, &inner.stop()).await {
            Ok(_) => {}
            Err(Error::Git { message, .. }) if message.contains("not found.") => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(Some(found))
}

/// Moves the tag in the mirror and pushes it; if the push fails, the mirror's tag moves back.
pub(super) async fn write(inner: &Inner, revision: &Revision, message: &str) -> Result<(), Error> {
    if inner.settings.readonly {
        return Err(Error::ReadOnly);
    }
    let stop = inner.stop().during_drain();
    let mut desk = inner.desk.lock().await;
    let git = inner.network(&mut desk, &stop).await?;
    let mirror = inner.open()?;
    let name = &inner.settings.sync_tag;
    let full = format!("refs/tags/{name}");
    let before = target(&mirror, &full).await?;

    let mut args = vec!["tag".to_owned(), "--force".to_owned(), "-a".to_owned(), "-m".to_owned(), message.to_owned()];
    args.extend(inner.settings.signing_key.iter().map(|key| format!("--local-user={key}")));
    args.extend(["--".to_owned(), name.clone(), revision.to_string()]);
    let author = git
        .clone()
        .with_config(format!("user.name={}", inner.settings.user))
        .with_config(format!("user.email={}", inner.settings.email));
    author.run(Call::new(format!("moving tag {name}: "), args).cwd(mirror.path()), &stop).await?;

    let refspec = format!("+{full}:{full}");
    let prefix = format!("pushing tag to origin: git push {} [{refspec}]: ", inner.shown_url);
    let pushed = mirror.push(&git, &prefix, &["--no-verify", "origin", &refspec], &stop).await;
    if pushed.is_err() {
        restore(&mirror, full, before).await?;
    }
    pushed
}

async fn target(mirror: &std::sync::Arc<super::mirror::Mirror>, name: &str) -> Result<Option<git2::Oid>, Error> {
    let name = name.to_owned();
    mirror.read(move |repository| Ok(repository.find_reference(&name).ok().and_then(|r| r.target()))).await
}

async fn restore(
    mirror: &std::sync::Arc<super::mirror::Mirror>,
    name: String,
    before: Option<git2::Oid>,
) -> Result<(), Error> {
    mirror
        .read(move |repository| {
            let restored = match before {
                Some(id) => repository.reference(&name, id, true, "push failed").map(drop),
                None => repository.find_reference(&name).and_then(|mut r| r.delete()),
            };
            restored.map_err(|e| Error::Object { what: name, reason: e.message().to_owned() })
        })
        .await
}
