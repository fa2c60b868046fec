//! The pace at which a recording is shown, and the keys that change it.

use crate::exit::{Exit, Failure};
use crate::runs::signals::{Heard, Signals};
use crate::ui::presses::Presses;
use crate::ui::term::keys::Key;
use crate::ui::term::screen::{self, Used};
use mainpath::playback::{Pace, PlayWait};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// So often the lower edge and the terminal's mode are looked after.
const TICK: Duration = Duration::from_millis(250);

/// What a person at the terminal has.
struct Person {
    presses: Presses,
    signals: Signals,
    _edge: Used,
}

/// The pace at which a recording is shown.
pub struct Stage {
    pace: Pace,
    is_paused: bool,
    person: Option<Person>,
}

/// What follows a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterWait {
    /// The next event is shown; `is_cut`: more time had passed than was waited.
    Next { is_cut: bool },
    /// Nothing more is.
    End(Exit),
}

impl Stage {
    /// Begins; with keys, where there is a terminal for it and somebody is to steer. Errors: signals cannot be listened to.
    pub fn begin(pace: Pace, with_keys: bool) -> Result<Stage, Failure> {
        let mut person = None;
        if with_keys
            && let Some(edge) = screen::begin()
            && let Some(presses) = Presses::listen()
        {
            person = Some(Person { presses, signals: Signals::listen()?, _edge: edge });
        }
        Ok(Stage { pace, is_paused: false, person })
    }

    /// Waits as long as it takes at this pace where so much time had passed.
    pub async fn wait(&mut self, passed: Duration) -> Result<AfterWait, Failure> {
        let PlayWait { time, is_cut } = self.pace.wait(passed);
        let next = AfterWait::Next { is_cut };
        if self.person.is_none() {
            if !time.is_zero() {
                sleep(time).await;
            }
            return Ok(next);
        }
        let (mut left, mut since) = (time, Instant::now());
        loop {
            self.show();
            let Some(person) = &mut self.person else { return Ok(next) };
            let (is_paused, rest) = (self.is_paused, left.saturating_sub(since.elapsed()));
            let over = async {
                match is_paused {
                    true => std::future::pending().await,
                    false => sleep(rest).await,
                }
            };
            let key = tokio::select! {
                biased;
                heard = person.signals.next() => {
                    return Ok(AfterWait::End(match heard {
                        Heard::Interrupt => Exit::Interrupted,
                        Heard::End => Exit::Ok,
                    }));
                }
                key = person.presses.next() => Some(key),
                () = over => return Ok(next),
                () = sleep(TICK) => None,
            };
            person.presses.keep();
            let Some(key) = key else { continue };
            // What is left is of the old pace.
            let before = self.pace;
            if !self.is_paused {
                left = left.saturating_sub(since.elapsed());
            }
            since = Instant::now();
            match key {
                Key::Char(' ') => self.is_paused = !self.is_paused,
                Key::Right | Key::Enter => return Ok(next),
                Key::Up | Key::Char('+') => self.pace = before.faster(),
                Key::Down | Key::Char('-') => self.pace = before.slower(),
                Key::Char('q' | 'Q') | Key::Escape | Key::Close => return Ok(AfterWait::End(Exit::Ok)),
                _ => {}
            }
            left = self.pace.rescaled(left, before);
        }
    }

    /// What stands at the lower edge.
    fn show(&self) {
        let speed = self.pace.speed.map_or("max".into(), |speed| format!("×{speed}"));
        let state = if self.is_paused { "paused" } else { "playing" };
        screen::status(&format!("{state} {speed} · space: pause, →: next, ↑ ↓: speed, q: quit"));
    }
}
