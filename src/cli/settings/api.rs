//! Settings of what is served and of the upstream service.

use std::path::{Path, PathBuf};

use crate::serve::{self, Auth, TlsFiles, receivers::Receivers, upstream};

use super::super::flags::Given;
use super::{SettingsError, choice};

/// How the API is served. Files are read once here, so that a mistake ends the process before it begins.
pub(super) fn settings(flags: &Given) -> Result<serve::Settings, SettingsError> {
    let receivers = match flags.text("receivers-config") {
        path if path.is_empty() => Receivers::default(),
        path => Receivers::load(Path::new(&path)).map_err(|e| SettingsError(e.to_string()))?,
    };
    Ok(serve::Settings {
        listen: flags.text("listen"),
        listen_metrics: Some(flags.text("listen-metrics")).filter(|address| !address.is_empty()),
        tls: tls(flags)?,
        auth: choice(flags, "api-auth", &[("none", Auth::None), ("kubernetes", Auth::Kubernetes)])?,
        receivers,
        ..serve::Settings::default()
    })
}

fn tls(flags: &Given) -> Result<Option<TlsFiles>, SettingsError> {
    let path = |name| Some(flags.text(name)).filter(|path| !path.is_empty()).map(PathBuf::from);
    let files = match (path("listen-tls-cert"), path("listen-tls-key"), path("listen-tls-client-ca")) {
        (None, None, None) => return Ok(None),
        (Some(certificate), Some(key), client_authority) => TlsFiles { certificate, key, client_authority },
        _ => return Err(SettingsError("--listen-tls-cert and --listen-tls-key must be given together".into())),
    };
    files.check().map_err(|e| SettingsError(e.to_string()))?;
    Ok(Some(files))
}

/// The upstream service (fluxd-v1 §8.6).
pub(super) fn upstream(flags: &Given) -> Result<Option<upstream::Settings>, SettingsError> {
    let address = flags.text("connect");
    if address.is_empty() {
        return Ok(None);
    }
    let timeout = flags.duration("rpc-timeout");
    let settings = upstream::Settings::new(&address, &flags.text("token"), timeout, env!("CARGO_PKG_VERSION"));
    settings.map(Some).map_err(|e| SettingsError(format!("--connect: {e}")))
}
