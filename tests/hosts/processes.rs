//! The processes of a server's home, and a port for the server.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use crate::seconds;

/// Kills every process with this home: it was started for the test that made the home.
pub fn kill_all_of(home: &Path) {
    let home = format!("HOME={}", home.display());
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw) else {
            continue;
        };
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|line| line.starts_with(home.as_bytes())) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// A free port below the ephemeral ports, which nobody else is given while the server is down.
pub fn free_port() -> u16 {
    let began = Instant::now();
    loop {
        let port = fastrand::u16(10_000..20_000);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
        assert!(began.elapsed() < seconds(120), "no free port");
    }
}
