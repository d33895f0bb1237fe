//! The socket by which an agent's hooks reach its watcher: `sweep watch event` writes to it.
//!
//! It lies in a directory that only this user can enter. What comes in says only what the agent does; nothing is done because
//! of it alone.

use std::env::temp_dir;
use std::fs::Permissions;
use std::io::Result;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use tempfile::TempDir;

use super::record::Shared;

/// Bytes of an event.
pub const EVENT_MAX: usize = 16 << 10;

/// Removed when it is dropped.
pub struct Events {
    directory: TempDir,
    socket: UnixDatagram,
}

impl Events {
    pub fn open() -> Result<Events> {
        let directory = tempfile::Builder::new()
            .prefix("sweep-watch-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(temp_dir())?;
        let socket = UnixDatagram::bind(directory.path().join("events"))?;
        Ok(Events { directory, socket })
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("events")
    }

    /// From now on, what comes in is known to the record.
    pub fn listen(&self, record: Shared) -> Result<()> {
        let socket = self.socket.try_clone()?;
        thread::spawn(move || {
            let mut buffer = vec![0; EVENT_MAX];
            while let Ok(length) = socket.recv(&mut buffer) {
                record.lock().told(&String::from_utf8_lossy(&buffer[..length]), Instant::now());
            }
        });
        Ok(())
    }
}

/// Hands an event to the watcher.
pub fn send(to: &Path, event: &str) -> Result<()> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.send_to(event.as_bytes(), to).map(drop)
}
