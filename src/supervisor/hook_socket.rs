//! The socket by which an agent's hooks reach its watcher: `sweep watch event` writes to it.
//!
//! The socket lies in a directory that only this user can enter, and nothing is done because of a message alone.

use std::env::temp_dir;
use std::fs::Permissions;
use std::io::Result;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use tempfile::TempDir;

use super::SharedRecord;

/// The size of a message in bytes.
const MESSAGE_MAX: usize = 16 << 10;

/// The directory of the socket to which hooks write. Dropping it removes the socket.
pub struct HookSocket(TempDir);

impl HookSocket {
    /// Opens a socket, and starts a thread that passes each message to the record.
    pub fn listen(record: SharedRecord) -> Result<HookSocket> {
        let directory = tempfile::Builder::new()
            .prefix("sweep-watch-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(temp_dir())?;
        let hook_socket = HookSocket(directory);
        let socket = UnixDatagram::bind(hook_socket.path())?;
        thread::spawn(move || {
            let mut buffer = vec![0; MESSAGE_MAX];
            while let Ok(length) = socket.recv(&mut buffer) {
                record.lock().hook_event(&String::from_utf8_lossy(&buffer[..length]), Instant::now());
            }
        });
        Ok(hook_socket)
    }

    pub fn path(&self) -> PathBuf {
        self.0.path().join("events")
    }
}

/// Sends a hook's event to the watcher that listens at this path, without waiting.
pub fn send(to: &Path, event: &str) -> Result<()> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.send_to(event.as_bytes(), to).map(drop)
}
