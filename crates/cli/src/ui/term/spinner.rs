//! The line that shows that something is being waited for: for how long, and what it has used.

use std::time::Duration;

/// It turns so often.
pub const TURN: Duration = Duration::from_millis(100);
/// What is over sooner than this is not waited for.
const SOON: Duration = Duration::from_millis(300);
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The line after this time. `used`: tokens and cost in words, if there are any yet.
pub fn line(waited: Duration, used: Option<&str>) -> String {
    if waited < SOON {
        return String::new();
    }
    let frame = usize::try_from(waited.as_millis() / TURN.as_millis()).unwrap_or_default() % FRAMES.len();
    let seconds = waited.as_secs();
    let time = match seconds {
        0..60 => format!("{seconds} s"),
        _ => format!("{} min {:02} s", seconds / 60, seconds % 60),
    };
    let used = used.map(|used| format!(" · {used}")).unwrap_or_default();
    format!("{} {time}{used}", FRAMES.get(frame).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_long_it_takes_and_what_was_used() {
        let at = |ms| line(Duration::from_millis(ms), Some("12 in, 3 out"));
        assert_eq!([at(200), at(400), at(125_900)], ["", "⠼ 0 s · 12 in, 3 out", "⠏ 2 min 05 s · 12 in, 3 out"]);
        assert_eq!(line(Duration::from_secs(1), None), "⠋ 1 s");
    }
}
