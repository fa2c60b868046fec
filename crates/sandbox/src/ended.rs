//! How a command ended, and the line in which its launcher says so.

use crate::error::CageError;
use crate::planted::Planted;

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// In which way.
    pub how: How,
    /// Before the launcher acted on any wish to end it.
    pub by_itself: bool,
    /// Processes that were ended because they still ran after the command.
    pub cleared: usize,
    /// Processes of other users, which could not be ended.
    pub left: usize,
    /// What it has left in the workspace that git, shells, editors or agents run or obey by themselves.
    pub planted: Planted,
}

/// In which way a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// With an exit code.
    Exit(i32),
    /// By a signal.
    Signal(i32),
    /// It could not be ended: it belongs to another user.
    StillRunning,
    /// It could not be started; the error's number.
    Failed(i32),
    /// Its cage could not be made, and nothing was started; why.
    Refused(String),
    /// Its launcher was killed.
    Lost,
}

impl How {
    pub(crate) fn refused(error: CageError) -> How {
        How::Refused(error.to_string())
    }
}

impl Ended {
    pub(crate) fn of(how: How) -> Ended {
        Ended { how, by_itself: false, cleared: 0, left: 0, planted: Planted::default() }
    }

    /// The line.
    pub(crate) fn line(&self) -> String {
        let how = match &self.how {
            How::Exit(code) => format!("exit {code}"),
            How::Signal(signal) => format!("signal {signal}"),
            How::StillRunning => "running 0".into(),
            How::Failed(number) => return format!("failed {number}\n"),
            How::Refused(why) => return format!("refused {}\n", why.replace('\n', " ")),
            How::Lost => return String::new(),
        };
        let why = if self.by_itself { "itself" } else { "asked" };
        format!("{how} by {why} ended {} left {}\n", self.cleared, self.left)
    }

    /// What a line says. One that is none means that the launcher was killed before it could finish it.
    pub(crate) fn parse(line: &str) -> Ended {
        let Some(line) = line.strip_suffix('\n') else { return Ended::of(How::Lost) };
        if let Some(why) = line.strip_prefix("refused ") {
            return Ended::of(How::Refused(why.into()));
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |text: &str| text.parse::<i32>().ok();
        let counted = |text: &str| text.parse::<usize>().unwrap_or(0);
        match words.as_slice() {
            [how, value, "by", why, "ended", cleared, "left", left] => {
                let how = match (*how, number(value)) {
                    ("exit", Some(code)) => How::Exit(code),
                    ("signal", Some(signal)) => How::Signal(signal),
                    ("running", _) => How::StillRunning,
                    _ => return Ended::of(How::Lost),
                };
                let by_itself = *why == "itself";
                Ended { by_itself, cleared: counted(cleared), left: counted(left), ..Ended::of(how) }
            }
            ["failed", value] => Ended::of(How::Failed(number(value).unwrap_or(0))),
            _ => Ended::of(How::Lost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_is_told_in_a_line_that_is_understood() {
        let ended = |how, by_itself, cleared, left| Ended { by_itself, cleared, left, ..Ended::of(how) };
        let all = [
            (ended(How::Exit(3), true, 1, 2), "exit 3 by itself ended 1 left 2\n"),
            (ended(How::Signal(9), false, 0, 0), "signal 9 by asked ended 0 left 0\n"),
            (ended(How::StillRunning, false, 0, 1), "running 0 by asked ended 0 left 1\n"),
            (Ended::of(How::Failed(2)), "failed 2\n"),
            (Ended::of(How::Refused("mounting /proc: no".into())), "refused mounting /proc: no\n"),
        ];
        for (ended, line) in all {
            assert_eq!((ended.line().as_str(), Ended::parse(line)), (line, ended));
        }
    }

    #[test]
    fn a_report_that_is_no_report_means_that_the_launcher_was_lost() {
        for line in
            ["", "exit", "exit 3 by itself ended 1 le", "exit 3 by itself ended 1 left 2", "fail 2\n", "failed\n"]
        {
            assert_eq!(Ended::parse(line), Ended::of(How::Lost), "{line:?}");
        }
    }
}
