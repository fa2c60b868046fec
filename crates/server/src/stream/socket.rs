//! Frames over a WebSocket: a text message of JSON each.

use super::feed::Feed;
use super::sse::BEAT;
use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use bytes::Bytes;
use std::time::Duration;

/// How long a message may take to be taken. Who is slower is let go, and comes back with its cursor.
const PATIENCE: Duration = Duration::from_secs(30);

/// Gives out a feed until it ends or the client goes.
pub async fn give(mut socket: WebSocket, mut feed: Feed) {
    loop {
        let message = tokio::select! {
            frame = feed.next() => match frame {
                Some(frame) => Message::Text(frame.text()),
                None => {
                    let over = match feed.is_closing() {
                        true => CloseFrame { code: close_code::AWAY, reason: "the server ends; come back with the cursor".into() },
                        false => CloseFrame { code: close_code::NORMAL, reason: "nothing goes on".into() },
                    };
                    let _ = tokio::time::timeout(PATIENCE, socket.send(Message::Close(Some(over)))).await;
                    return;
                }
            },
            heard = socket.recv() => match heard {
                // Nothing that a client says is asked for.
                Some(Ok(Message::Text(_) | Message::Binary(_) | Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
            },
            () = tokio::time::sleep(BEAT) => Message::Ping(Bytes::new()),
        };
        match tokio::time::timeout(PATIENCE, socket.send(message)).await {
            Ok(Ok(())) => {}
            _ => return,
        }
    }
}
