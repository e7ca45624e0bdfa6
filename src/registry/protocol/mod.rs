//! What registries say, as functions of text: challenges, pages, tags, errors, manifests, configurations, tokens. Every
//! reader has limits and refuses in words. Nothing here speaks to a network.

mod answers;
mod challenge;
mod link;
mod manifest;

pub use answers::{MAX_TAG, Token, read_refusal, read_tags, read_token};
pub use challenge::{Challenge, read_challenges};
pub use link::next_page;
pub use manifest::{ACCEPT, Config, Descriptor, Manifest, digest_of, read_config, read_manifest};
