//! The mode of the terminal that keys are read in: each as it is pressed, and not shown by the terminal itself. Ctrl-C and Ctrl-Z still
//! make their signals.

use rustix::process::getpgrp;
use rustix::stdio::stdin;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// Pastes are marked from now on, or no longer (xterm's bracketed paste).
pub const MARK_PASTES: &str = "\u{1b}[?2004h";
pub const MARK_NO_PASTES: &str = "\u{1b}[?2004l";

/// How the terminal was before.
#[derive(Debug)]
pub struct Raw {
    before: Option<Termios>,
}

impl Raw {
    pub const fn new() -> Raw {
        Raw { before: None }
    }

    /// Puts the terminal into the mode, also after somebody else has put it back, such as a shell that we were stopped by. True if it
    /// was not in it.
    pub fn keep(&mut self) -> bool {
        let Ok(now) = tcgetattr(stdin()) else { return false };
        let modes = LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN;
        // Behind a shell the terminal is none of ours.
        if !now.local_modes.intersects(modes) || !is_ours() {
            return false;
        }
        let mut raw = now.clone();
        raw.local_modes.remove(modes);
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        let done = tcsetattr(stdin(), OptionalActions::Now, &raw).is_ok();
        if done {
            self.before = Some(now);
        }
        done
    }

    /// Puts it back.
    pub fn leave(&mut self) {
        if let Some(before) = self.before.take().filter(|_| is_ours()) {
            let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
        }
    }
}

/// Whether the terminal is ours now, and not the shell's that we run behind.
pub fn is_ours() -> bool {
    tcgetpgrp(stdin()).map_or(true, |group| group == getpgrp())
}
