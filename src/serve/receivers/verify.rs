//! Whether a webhook knows the shared key, in the way its source proves that. All comparisons take the same time whatever
//! they find. Bodies are hashed, not parsed.

use hmac::Hmac;
use http::HeaderMap;
use sha1::Sha1;
use sha2::{Sha256, Sha512};
use subtle::ConstantTimeEq as _;

use super::Source;

/// Whether the webhook proves that its sender knows the key, as far as its source can.
pub(super) fn is_genuine(source: Source, key: &[u8], headers: &HeaderMap, body: &[u8]) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_key = |name: &str| text(name).is_some_and(|token| bool::from(token.as_bytes().ct_eq(key)));
    let signed = |name: &str| text(name).is_some_and(|signature| is_signed(key, body, signature));
    match source {
        // The stronger signature counts where there is one.
        Source::GitHub if text("x-hub-signature-256").is_some() => signed("x-hub-signature-256"),
        Source::GitHub | Source::BitbucketServer => signed("x-hub-signature"),
        // It signs when the hook has a secret; without one it is known by its path.
        Source::BitbucketCloud => text("x-hub-signature").is_none() || signed("x-hub-signature"),
        Source::Gitea => {
            text("x-gitea-signature").is_some_and(|hex| is_mac::<Hmac<Sha256>>(key, body, hex))
                || (text("x-gitea-signature").is_none() && signed("x-hub-signature-256"))
        }
        Source::GitLab => is_key("x-gitlab-token"),
        Source::Harbor => is_key("authorization"),
        Source::Nexus => text("x-nexus-webhook-signature").is_some_and(|hex| is_mac::<Hmac<Sha1>>(key, body, hex)),
        Source::GenericHMAC => signed("x-signature"),
        // Known by their path; Google's may prove more by a token.
        Source::DockerHub | Source::Quay | Source::GoogleContainerRegistry => true,
    }
}

/// A signature with the name of its hash: `sha256=⟨hexadecimal digits⟩`.
fn is_signed(key: &[u8], body: &[u8], signature: &str) -> bool {
    let Some((hash, hex)) = signature.trim().split_once('=') else { return false };
    match hash {
        "sha1" => is_mac::<Hmac<Sha1>>(key, body, hex),
        "sha256" => is_mac::<Hmac<Sha256>>(key, body, hex),
        "sha512" => is_mac::<Hmac<Sha512>>(key, body, hex),
        _ => false,
    }
}

fn is_mac<M: hmac::Mac + hmac::digest::KeyInit>(key: &[u8], body: &[u8], hex: &str) -> bool {
    let Ok(wanted) = hex::decode(hex) else { return false };
    // Keys of any length will do.
    let Ok(mac) = <M as hmac::Mac>::new_from_slice(key) else { return false };
    mac.chain_update(body).verify_slice(&wanted).is_ok()
}
