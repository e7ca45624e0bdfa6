//! A git repository as fluxd sees it: a bare mirror that is kept fresh, trees read from its objects, and commits, notes
//! and the sync marker written back. It is the only user of the git program.
//!
//! Promises:
//! - What the remote has is followed, force-pushes and deletions included; nothing is ever merged.
//! - Nothing of a repository is executed: no hook, no filter, no configuration that travels with the files.
//! - A mirror that could not be refreshed keeps serving reads; [`Repo::ready`] says whether it is fresh.
//! - Every run of a program has a deadline, and ends with all that it started.
//! - No credential appears in an argument list, an error, or a log line.

mod collect;
mod commit;
mod error;
mod export;
mod files;
mod gpg;
mod history;
mod keeper;
mod keys;
mod marker;
mod mirror;
mod notes;
mod person;
mod push;
mod reference;
mod repo;
mod run;
mod scratch;
mod secret;
mod settings;
mod ssh;
mod turn;
mod url;
mod verify;
mod write;

pub use error::{Error, Kind};
pub use gpg::import_gpg_keys;
pub use keys::{Fingerprint, KeyPair, KeyRing, KeySettings, LoadKey, PublicKey, StoreKey};
pub use repo::{Commit, Invalid, Repo, Status, Verified};
pub use settings::{FORWARDED, Settings, SshSettings, Verify, forwarded};
pub use url::{check_url, equivalent, redact, sanitise_url, v1_url};
pub use write::{NewCommit, PushError};
