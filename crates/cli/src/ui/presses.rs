//! Keys as they are pressed, for who shows something that a person steers and says nothing to.

use crate::ui::prompt::has_line;
use crate::ui::term::keys::{Key, Keys};
use crate::ui::term::raw::{Raw, is_ours};
use std::io::IsTerminal;
use std::thread::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Keys as they are pressed. As long as this lives, the terminal does not show them.
pub struct Presses {
    raw: Raw,
    pressed: UnboundedReceiver<Key>,
}

impl Presses {
    /// Listens from now on; `None` where standard input is no terminal of ours.
    pub fn listen() -> Option<Presses> {
        if !std::io::stdin().is_terminal() || !is_ours() {
            return None;
        }
        let (send, pressed) = unbounded_channel();
        // Without a thread, it plays without keys.
        Builder::new().spawn(move || read(&send)).ok()?;
        let mut raw = Raw::new();
        raw.keep();
        Some(Presses { raw, pressed })
    }

    /// The next key. Cancel safe. Never ends where the terminal has gone.
    pub async fn next(&mut self) -> Key {
        match self.pressed.recv().await {
            Some(key) => key,
            None => std::future::pending().await,
        }
    }

    /// Puts the terminal into its mode again, after somebody else has put it back.
    pub fn keep(&mut self) {
        self.raw.keep();
    }
}

impl Drop for Presses {
    fn drop(&mut self) {
        self.raw.leave();
    }
}

fn read(send: &UnboundedSender<Key>) {
    let (mut keys, mut bytes) = (Keys::default(), vec![0; 4_096]);
    while !send.is_closed() {
        let pressed = match has_line() {
            false => keys.rest().into_iter().collect(),
            true => match rustix::io::read(rustix::stdio::stdin(), &mut bytes) {
                Ok(read @ 1..) => keys.feed(bytes.get(..read).unwrap_or_default()),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => continue,
                Ok(_) | Err(_) => return,
            },
        };
        if pressed.into_iter().any(|key| send.send(key).is_err()) {
            return;
        }
    }
}
