//! Which images registries offer: tags, digests and times of creation, asked for no faster than allowed and remembered in
//! memory and on disk (fluxd-v1 §7). It decides nothing: what an image is chosen for is `update`'s work.
//!
//! ```text
//! want() ─► scan: which repository, which tags, in which order ─► wire: one request at a time ─► limiter ─► network
//!              └─► store: what is known, with deadlines; a file behind it ─► repository(), changes()
//! ```

mod credentials;
mod error;
mod info;
mod inner;
mod limiter;
mod listing;
mod logins;
pub mod protocol;
mod scan;
mod service;
mod settings;
mod store;
mod wire;

pub use credentials::{Credentials, CredentialsError, Login};
pub use error::Error;
pub use info::{Info, Labels, ReadError, RepositoryView};
pub use listing::Listing;
pub use logins::{Account, AwsKeys, AwsRequest, AwsScope, Cloud, Clouds, Oidc};
pub use service::{Registry, Want, Wants};
pub use settings::{Aws, Azure, Ecr, Google, Observation, Observe, Proxies, Settings, Trust};
