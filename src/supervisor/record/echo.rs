//! The echo of a nudge: lines that a terminal shows only because a message was typed into it.

use std::collections::HashSet;
use std::time::{Duration, Instant};

/// How long a terminal may take to show what was typed.
pub const ECHO_LASTS: Duration = Duration::from_secs(3);

/// The latest nudge, and the lines that came with any nudge: they stay on the screen.
#[derive(Default)]
pub struct Echoes {
    nudge: Option<TypedNudge>,
    lines: HashSet<String>,
}

struct TypedNudge {
    message: String,
    typed_at: Instant,
    /// The lines that were on the screen before.
    before: HashSet<String>,
}

impl Echoes {
    /// A nudge is being typed, or has just been: these are the lines on the screen.
    pub fn typed(&mut self, message: &str, lines: &[String], now: Instant) {
        let same = self.nudge.take().filter(|nudge| nudge.message == message && nudge.is_recent(now));
        let before = same.map_or_else(|| lines.iter().cloned().collect(), |nudge| nudge.before);
        self.nudge = Some(TypedNudge { message: message.to_owned(), typed_at: now, before });
    }

    /// Whether new output may be the echo of a nudge.
    pub fn is_awaited(&self, now: Instant) -> bool {
        self.nudge.as_ref().is_some_and(|nudge| nudge.is_recent(now))
    }

    /// Removes the echoes from the lines on the screen.
    pub fn remove_from(&mut self, lines: &mut Vec<String>, now: Instant) {
        if let Some(TypedNudge { message, before, .. }) = self.nudge.as_ref().filter(|nudge| nudge.is_recent(now)) {
            let is_echo = |line: &&String| is_echo(line, message) && !before.contains(*line);
            self.lines.extend(lines.iter().filter(is_echo).cloned());
        }
        lines.retain(|line| !self.lines.contains(line));
    }
}

impl TypedNudge {
    fn is_recent(&self, now: Instant) -> bool {
        now.duration_since(self.typed_at) < ECHO_LASTS
    }
}

/// Whether a line may be no more than what a terminal shows of a message: it has no letter or digit, is a part of the
/// message, or shares eight letters and digits in a row with it. Prompts and frames stand around a message, terminals
/// wrap it, and other output runs into it.
fn is_echo(line: &str, message: &str) -> bool {
    const RUN: usize = 8;
    let readable = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<Vec<char>>();
    let (line, message) = (readable(line), readable(message));
    let is_in_message = |part: &[char]| message.windows(part.len()).any(|run| run == part);
    line.is_empty() || is_in_message(&line) || line.windows(RUN).any(is_in_message)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::is_echo;

    const MESSAGE: &str = "You seem to be stuck. Go on with your task.";

    #[rstest]
    #[case::the_message("You seem to be stuck. Go on with your task.", true)]
    #[case::behind_a_prompt("agent> You seem to be stuck. Go on with your task.", true)]
    #[case::framed("│ > You seem to be stuck. Go on      │", true)]
    #[case::a_frame("╭──────────╮", true)]
    #[case::its_end("task.", true)]
    #[case::a_loop_in_it("You seem to Error: connection refused", true)]
    #[case::an_answer("Sorry, I was waiting for the tests.", false)]
    #[case::a_short_answer("ok", false)]
    fn an_echo_is_known_by_the_message(#[case] line: &str, #[case] is_one: bool) {
        assert_eq!(is_echo(line, MESSAGE), is_one);
    }
}
