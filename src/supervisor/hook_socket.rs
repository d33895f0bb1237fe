//! The socket by which an agent's hooks reach its watcher: `sweep watch event` writes to it.
//!
//! It lies in a directory that only this user can enter, and nothing is done because of a message alone.

use std::env::temp_dir;
use std::fs::Permissions;
use std::io::Result;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use tempfile::TempDir;

use super::record::SharedRecord;

/// The size of a message in bytes.
const MESSAGE_MAX: usize = 16 << 10;

/// The watcher's end of the socket. Dropping it removes the socket.
pub struct HookSocket {
    directory: TempDir,
    socket: UnixDatagram,
}

impl HookSocket {
    pub fn open() -> Result<HookSocket> {
        let directory = tempfile::Builder::new()
            .prefix("sweep-watch-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(temp_dir())?;
        let socket = UnixDatagram::bind(directory.path().join("events"))?;
        Ok(HookSocket { directory, socket })
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("events")
    }

    /// Starts a thread that passes each message to the record.
    pub fn listen(&self, record: SharedRecord) -> Result<()> {
        let socket = self.socket.try_clone()?;
        thread::spawn(move || {
            let mut buffer = vec![0; MESSAGE_MAX];
            while let Ok(length) = socket.recv(&mut buffer) {
                record.lock().hook_event(&String::from_utf8_lossy(&buffer[..length]), Instant::now());
            }
        });
        Ok(())
    }
}

/// Sends a hook's event to the watcher that listens at this path, without waiting.
pub fn send(to: &Path, event: &str) -> Result<()> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.send_to(event.as_bytes(), to).map(drop)
}
