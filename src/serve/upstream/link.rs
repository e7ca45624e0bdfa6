//! One connection to the upstream service, from the handshake to its end: calls in, answers out, pings, deadlines.

use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{SinkExt as _, StreamExt as _};
use http::header::{AUTHORIZATION, USER_AGENT};
use tokio::net::TcpStream;
use tokio::time::{Instant, interval};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use super::super::api::Api;
use super::stream::{Splitter, StreamError};
use super::{Settings, call};

/// Longest time to connect.
const CONNECT: Duration = Duration::from_secs(10);
/// Longest time to write one message.
const WRITE: Duration = Duration::from_secs(10);
/// Longest silence of the service.
const SILENCE: Duration = Duration::from_secs(30);
/// Between two pings: more than two fit into the longest silence.
const PING: Duration = Duration::from_millis(13_333);
/// Calls answered at once; with more, nothing is read until one is answered.
const CALLS: usize = 16;
/// Largest message, in bytes.
const MESSAGE: usize = 8 << 20;

/// Why a connection is over.
pub(super) enum Ended {
    /// The service wants no such daemon any more.
    Gone,
    /// It broke off, or never came about.
    Lost(LinkError),
}

/// Why a connection was lost.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error("cannot connect: {0}")]
    Connect(Box<SocketError>),
    #[error("cannot connect: no answer within {} s", CONNECT.as_secs())]
    ConnectTime,
    #[error("the service answered with HTTP status {0} instead of a websocket")]
    Status(u16),
    #[error("the connection broke: {0}")]
    Broken(Box<SocketError>),
    #[error("the service closed the connection")]
    Closed,
    #[error("the service was silent for {} s", SILENCE.as_secs())]
    Silent,
    #[error("the service took nothing for {} s", WRITE.as_secs())]
    Stuck,
    #[error(transparent)]
    Stream(#[from] StreamError),
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Connects and answers calls until the connection ends.
pub(super) async fn talk<A: Api>(settings: &Settings, api: &A, target: &str) -> Ended {
    let socket = match connect(settings).await {
        Ok(socket) => socket,
        Err(LinkError::Status(410)) => return Ended::Gone,
        Err(e) => return Ended::Lost(e),
    };
    tracing::info!(component = "upstream", connected = true);
    match converse(socket, settings, api, target).await {
        Ok(()) => Ended::Lost(LinkError::Closed),
        Err(e) => Ended::Lost(e),
    }
}

async fn connect(settings: &Settings) -> Result<Socket, LinkError> {
    let request = request(settings).map_err(|e| LinkError::Connect(Box::new(e)))?;
    let config = WebSocketConfig::default().max_message_size(Some(MESSAGE)).max_frame_size(Some(MESSAGE));
    match tokio::time::timeout(CONNECT, connect_async_with_config(request, Some(config), true)).await {
        Ok(Ok((socket, _))) => Ok(socket),
        Ok(Err(SocketError::Http(response))) => Err(LinkError::Status(response.status().as_u16())),
        Ok(Err(e)) => Err(LinkError::Connect(Box::new(e))),
        Err(_) => Err(LinkError::ConnectTime),
    }
}

fn request(settings: &Settings) -> Result<Request, SocketError> {
    let mut request = settings.socket.as_str().into_client_request()?;
    request.headers_mut().insert(USER_AGENT, settings.agent.clone());
    if let Some(value) = &settings.authorization {
        request.headers_mut().insert(AUTHORIZATION, value.clone());
    }
    Ok(request)
}

/// Reads calls and writes answers, in whatever order they become ready.
async fn converse<A: Api>(socket: Socket, settings: &Settings, api: &A, target: &str) -> Result<(), LinkError> {
    let (since, metrics) = (Instant::now(), api.metrics());
    let (mut sink, mut stream) = socket.split();
    let (mut splitter, mut calls) = (Splitter::default(), FuturesUnordered::new());
    let mut heard = Instant::now();
    metrics.connected(target, since.elapsed());
    let (mut pings, mut seconds) = (interval(PING), interval(Duration::from_secs(1)));
    loop {
        // One message may hold any number of requests: those beyond the bound wait where they are.
        while calls.len() < CALLS
            && let Some(request) = splitter.next()?
        {
            calls.push(async move { call::answer(api, &request, settings.timeout).await });
        }
        let reads = calls.len() < CALLS;
        let message = tokio::select! {
            Some(answer) = calls.next(), if !calls.is_empty() => Message::binary::<Vec<u8>>(answer),
            _ = pings.tick() => Message::Ping(bytes::Bytes::new()),
            _ = seconds.tick() => {
                metrics.connected(target, since.elapsed());
                // What is not read cannot be heard.
                heard = if reads { heard } else { Instant::now() };
                continue;
            }
            received = tokio::time::timeout_at(heard + SILENCE, stream.next()), if reads => {
                heard = Instant::now();
                match received.map_err(|_| LinkError::Silent)? {
                    Some(Ok(Message::Binary(bytes))) => {
                        splitter.push(&bytes);
                        continue;
                    }
                    None | Some(Ok(Message::Close(_))) => return Ok(()),
                    // Pongs, pings (which the library answers) and texts only show that somebody is there.
                    Some(Ok(_)) => continue,
                    Some(Err(e)) => return Err(LinkError::Broken(Box::new(e))),
                }
            }
        };
        match tokio::time::timeout(WRITE, sink.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(e)) => return Err(LinkError::Broken(Box::new(e))),
            Err(_) => return Err(LinkError::Stuck),
        }
    }
}
