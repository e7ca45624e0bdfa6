//! Leader election as the daemon uses it: the identity that a replica puts into the Lease, the address that the others read
//! from it, and the truth value that the sync loop waits for.

use std::net::IpAddr;

use http::uri::Authority;
use tokio::sync::watch;

use crate::runtime::{Election, ElectionSettings, Leadership, Scoped, Stop, scoped};
use crate::serve::Leader;

use super::settings::{LeaderElection, SettingsError};

/// An election under way.
pub(super) struct Running {
    /// Whether this process leads, up to the end of the drain.
    pub(super) leading: watch::Receiver<bool>,
    /// Who answers requests.
    pub(super) leader: watch::Receiver<Leader>,
    /// What ends it.
    pub(super) release: Release,
}

/// The token that ends an election, and its task.
pub(super) type Release = (Stop, Scoped<()>);

/// A replica's name in the Lease: unique, and with the address of its API at the end when others can reach it.
pub(super) fn identity(host: &str, process: u32, address: Option<&Authority>) -> String {
    // Two processes on one machine must not take each other for themselves.
    let name = format!("{host}_{process}");
    address.map_or_else(|| name.clone(), |address| format!("{name}_{address}"))
}

/// Where others reach our API: as given, else at the pod's address, else where we listen if that is one certain host.
pub(super) fn address(given: &str, pod_ip: Option<&str>, listen: &str) -> Result<Option<Authority>, SettingsError> {
    if !given.is_empty() {
        let wrong = || SettingsError(format!("--leader-elect-address must be a host and a port, not {given:?}"));
        return parse(given).map(Some).ok_or_else(wrong);
    }
    let Some((host, port)) = listen.rsplit_once(':') else { return Ok(None) };
    let bare = |host: &str| host.trim_matches(['[', ']']).parse::<IpAddr>();
    let host = match pod_ip.map(bare) {
        Some(Ok(IpAddr::V6(ip))) => format!("[{ip}]"),
        Some(Ok(IpAddr::V4(ip))) => ip.to_string(),
        _ if host.is_empty() || bare(host).is_ok_and(|ip| ip.is_unspecified()) => return Ok(None),
        _ => host.to_owned(),
    };
    Ok(parse(&format!("{host}:{port}")))
}

fn parse(text: &str) -> Option<Authority> {
    text.parse().ok().filter(|authority: &Authority| authority.port().is_some() && !authority.as_str().contains('@'))
}

/// The address in a replica's name.
fn address_of(identity: &str) -> Option<Authority> {
    let (_, last) = identity.rsplit_once('_')?;
    parse(last)
}

/// Takes part in the election.
pub(super) fn elect(election: LeaderElection, client: kube::Client) -> Running {
    let release = Stop::new();
    let own = election.identity.clone();
    let settings = ElectionSettings::new(election.namespace, election.name, election.identity);
    let (election, mut leadership) = Election::new(client, settings);
    let (tell_leading, leading) = watch::channel(false);
    let (tell_leader, leader) = watch::channel(Leader::Unknown);
    let forward = async move {
        while leadership.changed().await.is_ok() {
            let now = leadership.borrow_and_update().clone();
            tell_leading.send_replace(now.leader);
            tell_leader.send_replace(who(&now, &own));
        }
    };
    let until = release.clone();
    let task = scoped(async move { tokio::join!(election.run(until), forward).0 });
    Running { leading, leader, release: (release, task) }
}

/// Takes part in an election whose followers only wait.
pub(super) fn lead(settings: ElectionSettings, client: kube::Client) -> (watch::Receiver<bool>, Release) {
    let release = Stop::new();
    let (election, mut leadership) = Election::new(client, settings);
    let (tell, leading) = watch::channel(false);
    let forward = async move {
        while leadership.changed().await.is_ok() {
            tell.send_replace(leadership.borrow_and_update().leader);
        }
    };
    let until = release.clone();
    let task = scoped(async move { tokio::join!(election.run(until), forward).0 });
    (leading, (release, task))
}

/// A holder that is us although we do not lead any more is nobody.
fn who(now: &Leadership, own: &str) -> Leader {
    match &now.holder {
        _ if now.leader => Leader::Us,
        Some(holder) if holder != own => address_of(holder).map_or(Leader::Unknown, Leader::At),
        _ => Leader::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_the_given_one_else_the_pods_else_where_we_listen() {
        let rows = [
            (("flux.example.org:80", Some("10.1.2.3"), ":3030"), Some("flux.example.org:80")),
            (("", Some("10.1.2.3"), ":3030"), Some("10.1.2.3:3030")),
            (("", Some("fd00::1"), ":3030"), Some("[fd00::1]:3030")),
            (("", None, "127.0.0.1:4040"), Some("127.0.0.1:4040")),
            (("", None, "0.0.0.0:3030"), None),
            (("", None, "[::]:3030"), None),
            (("", None, ":3030"), None),
        ];
        for ((given, pod_ip, listen), expected) in rows {
            let found = address(given, pod_ip, listen).unwrap();
            assert_eq!(found.as_ref().map(Authority::as_str), expected, "{given:?} {pod_ip:?} {listen:?}");
            let name = identity("flux-5c_x", 1, found.as_ref());
            assert_eq!(address_of(&name), found, "others read it back from {name}");
        }
        assert!(address("host-without-port", None, ":3030").is_err());
        assert_eq!(address_of("another program's holder"), None);
    }

    #[test]
    fn a_holder_that_is_ourselves_leads_only_while_we_lead() {
        let own = identity("a", 1, parse("10.0.0.1:80").as_ref());
        let at = |leader, holder: &str| who(&Leadership { leader, holder: Some(holder.to_owned()) }, &own);
        assert_eq!(at(true, &own), Leader::Us);
        assert_eq!(at(false, &own), Leader::Unknown);
        assert_eq!(at(false, "b_2_10.0.0.2:80"), Leader::At("10.0.0.2:80".parse().unwrap()));
        assert_eq!(at(false, "b_2"), Leader::Unknown);
    }
}
