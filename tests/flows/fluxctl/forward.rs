//! The way to the daemon through the API server: an API server of the test's own lists pods and carries port forwards to a
//! scripted daemon.

use super::double::{Double, script};
use super::{Ran, command, own, run};
use futures::{SinkExt, StreamExt};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

/// Pods by label selector, as JSON.
type Pods = Vec<(&'static str, String)>;

fn pod(name: &str, owner: &str) -> String {
    let owners =
        format!(r#"[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"{owner}","controller":true}}]"#);
    let owners = if owner.is_empty() { "[]" } else { &owners };
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"flux","ownerReferences":{owners}}},"status":{{"phase":"Running"}}}}"#
    )
}

/// Runs fluxctl against an API server with these pods; gives also the targets of the requests that it got.
fn through(pods: Pods, args: &[&str]) -> (Ran, Vec<String>) {
    let daemon = Double::start(script(&[("/v6/services", &[(200, "[]")])]));
    let target = daemon.url().trim_start_matches("http://").trim_end_matches("/api/flux").to_owned();
    let (asked, runtime) = (Arc::new(Mutex::new(Vec::new())), tokio::runtime::Runtime::new().unwrap());
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let log = asked.clone();
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, pods.clone(), target.clone(), log.clone()));
        }
    });
    let home = tempfile::tempdir().unwrap();
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: k, cluster: {{server: 'http://{address}'}}}}]\n\
         contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\nusers: [{{name: u, user: {{}}}}]\n"
    );
    std::fs::create_dir(home.path().join(".kube")).unwrap();
    std::fs::write(home.path().join(".kube/config"), kubeconfig).unwrap();
    let ran = run(command(&own(), home.path(), "", args));
    let asked = asked.lock().unwrap().clone();
    (ran, asked)
}

async fn serve(mut stream: TcpStream, pods: Pods, target: String, log: Arc<Mutex<Vec<String>>>) -> Option<()> {
    let mut head = vec![0; 8192];
    let text = loop {
        let count = stream.peek(&mut head).await.ok()?;
        let text = String::from_utf8_lossy(&head[..count]).into_owned();
        if count == 0 {
            return None;
        }
        if text.contains("\r\n\r\n") {
            break text;
        }
        tokio::task::yield_now().await;
    };
    let path = text.split(' ').nth(1)?.to_owned();
    log.lock().unwrap().push(path.clone());
    if path.contains("/portforward") {
        return forward(stream, &target).await;
    }
    let length = text.find("\r\n\r\n")? + 4;
    stream.read_exact(&mut head[..length]).await.ok()?;
    let (_, query) = path.split_once('?')?;
    let selector: String =
        url::form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "labelSelector")?.1.into();
    let found = pods.iter().find(|(labels, _)| *labels == selector).map_or("", |(_, list)| list);
    let body = format!(r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{}},"items":[{found}]}}"#);
    let reply = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(reply.as_bytes()).await.ok()
}

/// One port forward by websocket, as the kubelet does it: channel 0 carries data, 1 errors, each begins with its port.
async fn forward(stream: TcpStream, target: &str) -> Option<()> {
    #[expect(clippy::result_large_err, reason = "the library's own type")]
    let protocol = |_: &Request, mut response: Response| {
        response.headers_mut().insert("Sec-WebSocket-Protocol", "v4.channel.k8s.io".parse().unwrap());
        Ok(response)
    };
    let (mut near, mut from_client) = tokio_tungstenite::accept_hdr_async(stream, protocol).await.ok()?.split();
    for channel in [0_u8, 1] {
        let [low, high] = 3030_u16.to_le_bytes();
        near.send(Message::binary(vec![channel, low, high])).await.ok()?;
    }
    let (mut read, mut write) = TcpStream::connect(target).await.ok()?.into_split();
    let up = async {
        while let Some(Ok(message)) = from_client.next().await {
            let data = message.into_data();
            if data.first() == Some(&0) && write.write_all(&data[1..]).await.is_err() {
                break;
            }
        }
    };
    let down = async {
        let mut bytes = vec![0; 4096];
        while let Ok(count @ 1..) = read.read(&mut bytes).await {
            let framed = [&[0], &bytes[..count]].concat();
            if near.send(Message::binary(framed)).await.is_err() {
                break;
            }
        }
        near.close().await.ok();
    };
    tokio::join!(up, down);
    Some(())
}

const FALLBACK: &str = "name in (flux,fluxd,weave-flux-agent)";

#[test]
fn the_daemons_pod_is_reached_through_the_api_server() {
    for labels in ["app=flux", FALLBACK] {
        let (ran, asked) = through(vec![(labels, pod("flux-1", ""))], &["list-workloads", "--k8s-fwd-ns=flux"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
        assert_eq!(ran.stdout, "WORKLOAD  CONTAINER  IMAGE  RELEASE  POLICY\n");
        assert!(
            asked.iter().any(|path| path.starts_with("/api/v1/namespaces/flux/pods/flux-1/portforward?")),
            "{asked:?}"
        );
    }
}

#[test]
fn no_pod_and_several_pods_are_told_as_v1_told_them() {
    let (none, _) = through(Vec::new(), &["list-workloads", "--k8s-fwd-labels=a=b,c=d"]);
    let told = "Error: No pod found in namespace \"default\" using the following selectors:\n  a=b,c=d\n  name in (flux,fluxd,weave-flux-agent)\n\n\
                Make sure Flux is running in namespace \"default\".\nIf Flux is running in another different namespace, please supply it to \
                --k8s-fwd-ns.\nRun 'fluxctl list-workloads --help' for usage.\n";
    assert_eq!((none.code, none.stderr.as_str()), (Some(1), told));
    let two = format!("{},{}", pod("a", "1"), pod("b", "2"));
    let (several, _) = through(vec![("app=flux", two)], &["list-workloads"]);
    let told = "Error: Could not create a dialer: Could not get pod name: Ambiguous pod: found more than one pod for selector: labels \"app=flux\"";
    assert!(several.code == Some(1) && several.stderr.starts_with(told), "{several:?}");
}

#[test]
fn replicas_of_one_daemon_are_one() {
    let two = format!("{},{}", pod("flux-b", "1"), pod("flux-a", "1"));
    let (ran, asked) = through(vec![("app=flux", two)], &["list-workloads"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(asked.iter().any(|path| path.contains("/pods/flux-a/portforward")), "{asked:?}");
}

#[test]
fn without_a_kubeconfig_both_ways_are_named() {
    let home = tempfile::tempdir().unwrap();
    let ran = run(command(&own(), home.path(), "", &["list-workloads"]));
    assert!(
        ran.code == Some(1) && ran.stderr.starts_with("Error: Could not load kubernetes configuration file: "),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("--url"), "{ran:?}");
    std::fs::create_dir(home.path().join(".kube")).unwrap();
    std::fs::write(home.path().join(".kube/config"), "apiVersion: v1\nkind: Config\n").unwrap();
    let ran = run(command(&own(), home.path(), "", &["list-workloads", "--context=nope"]));
    assert!(
        ran.stderr.starts_with("Error: Could not load kubernetes configuration file: context \"nope\" does not exist"),
        "{ran:?}"
    );
}
