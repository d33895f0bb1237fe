//! Where a session runs: what it is called that is given no name.

use std::ffi::OsString;
use std::fmt::{Display, Formatter, Result};
use std::path::{Path, PathBuf};

use crate::rules::display::is_invisible;
use crate::screen::Agents;
use crate::supervisor::WatchTarget;
use crate::text::redact;

/// Characters of a name.
const NAME_MAX: usize = 100;

/// A directory of a machine. In words it is the end of a title, by which another session of the same place is known.
pub struct Place {
    directory: PathBuf,
    host: String,
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter) -> Result {
        write!(f, "in {} on {}", redact(&self.directory.to_string_lossy()), redact(&self.host))
    }
}

impl Place {
    pub fn of(target: &WatchTarget) -> Place {
        let directory = match target {
            WatchTarget::Command(command) => command.directory.clone(),
            WatchTarget::Pane(pane) => pane.directory(),
        };
        Place { directory, host: whoami::hostname().unwrap_or_default() }
    }

    /// `api` for `/srv/api`.
    pub fn name(&self) -> String {
        let name = self.directory.file_name().map(Path::new).map(|name| redact(&name.to_string_lossy()));
        let visible = name.unwrap_or_default().chars().filter(|c| !is_invisible(*c)).take(NAME_MAX).collect::<String>();
        Some(visible.trim().to_owned()).filter(|name| !name.is_empty()).unwrap_or_else(|| redact(&self.host))
    }

    /// The agent's name, if it is known, and the place: `Claude Code in /srv/api on web-1`.
    pub fn with_agent(&self, words: &[OsString]) -> String {
        let agent = Agents::get().of_command(words).map(|agent| format!("{} ", agent.name));
        format!("{}{self}", agent.unwrap_or_default())
    }
}
