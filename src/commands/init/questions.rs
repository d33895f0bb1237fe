//! The questions of `sweep init`: at a terminal they are asked, and with `--yes` each has its default.

use anyhow::Result;

use crate::commands::terminal::{ask, ask_unseen, is_confirmed, is_interactive, prompt};
use crate::conclusion::{Conclusion, Failure, usage};
use crate::sweep::Cancel;

pub struct Asker {
    /// Each default is taken, and nobody is asked.
    is_yes: bool,
    cancel: Cancel,
}

impl Asker {
    pub fn new(is_yes: bool) -> Result<Asker> {
        if !is_yes && !is_interactive() {
            return Err(usage("nothing was written: `sweep init` asks at a terminal; elsewhere, add --yes").into());
        }
        Ok(Asker { is_yes, cancel: Cancel::on_signals()? })
    }

    /// May what was shown be done?
    pub fn agrees(&self, question: &str) -> Result<bool> {
        let agrees = self.is_yes || is_confirmed(question, &self.cancel);
        match self.cancel.conclusion() {
            Some(interrupted) => {
                Err(Failure::new(interrupted, "interrupted: nothing more was written".to_owned()).into())
            }
            None => Ok(agrees),
        }
    }

    /// May what somebody else has written be replaced? Nobody has said so by `--yes`.
    pub fn agrees_itself(&self, question: &str) -> Result<bool> {
        if self.is_yes { Ok(false) } else { self.agrees(question) }
    }

    /// An answer that `read` takes; an empty one is the default. An empty default is none.
    pub fn answer<T>(&self, question: &str, default: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<T> {
        if self.is_yes {
            return read(default).map_err(|why| usage(why).into());
        }
        let shown = if default.is_empty() { String::new() } else { format!(" [{default}]") };
        loop {
            let answer = self.given(ask(&format!("{question}{shown}: "), &self.cancel))?;
            match read(if answer.is_empty() { default } else { &answer }) {
                Ok(value) => return Ok(value),
                Err(why) => prompt(&format!("  {why}\n")),
            }
        }
    }

    /// The secret `name`, which is not shown while somebody types it.
    pub fn secret<T>(&self, question: &str, name: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<T> {
        if self.is_yes {
            let why = "since a secret is on no command line";
            return Err(usage(format!("{question}: set {name} or {name}_FILE, {why}")).into());
        }
        loop {
            let answer = self.given(ask_unseen(&format!("{question}: {name} (not shown): "), &self.cancel))?;
            match read(&answer) {
                Ok(value) => return Ok(value),
                Err(why) => prompt(&format!("  {why}\n")),
            }
        }
    }

    /// Without an answer, since the input or the person has ended it, nothing more is asked.
    fn given(&self, answer: Option<String>) -> Result<String> {
        answer.map(|answer| answer.trim().to_owned()).ok_or_else(|| {
            let conclusion = self.cancel.conclusion().unwrap_or(Conclusion::SomeFailed);
            Failure::new(conclusion, "there was no answer, and nothing was written".to_owned()).into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Asker;
    use crate::sweep::Cancel;

    #[test]
    fn after_a_signal_nothing_is_agreed_to() {
        let asker = Asker { is_yes: true, cancel: Cancel::default() };
        assert!(asker.agrees("Write it?").expect("an answer"));
        asker.cancel.set();
        assert!(asker.agrees("Write it?").is_err());
    }
}
