//! Which subject a command is about: its kind and its name, or its name alone.

use super::mistake::refusal;
use super::subjects::SubjectName;
use crate::conclusion::Failure;
use crate::parse::KIND;
use crate::rules::Kind;

impl SubjectName {
    /// The subject that this command names. A kind without a name, and a word in its place that is no kind, are
    /// refused.
    pub fn read(self, command: &[&str]) -> Result<(Option<Kind>, String), Failure> {
        let missing =
            |what: &str| Err(refusal(command, &format!("`sweep {}` is not complete: {what}", command.join(" "))));
        match (self.kind, self.name) {
            (Some(word), Some(name)) => match KIND.parse(&word) {
                Ok(kind) => Ok((Some(kind), name)),
                Err(why) => Err(refusal(command, &format!("KIND {word}: {why}"))),
            },
            (Some(word), None) if KIND.parse(&word).is_ok() => missing("ID is missing"),
            (Some(name), None) => Ok((None, name)),
            (None, _) => missing("ID is missing"),
        }
    }
}
