//! A real mail server, to which mail is submitted: Debian's aiosmtpd, with a certificate that is trusted or not.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub struct MailServer {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
    pub port: String,
    directory: TempDir,
}

impl MailServer {
    /// A server in this mode: `plain`; `starttls`, `injected` or `tls`, with a certificate and a login; `login`,
    /// without TLS.
    pub fn new(mode: &str) -> MailServer {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let [certificate, key] = ["mail.crt", "mail.key"].map(|file| directory.path().join(file));
        let request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost \
                       -addext subjectAltName=DNS:localhost";
        let mut made = Command::new("openssl");
        made.args(request.split_whitespace()).arg("-keyout").arg(&key).arg("-out").arg(&certificate);
        assert!(made.output().expect("openssl").status.success());
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/support/mail_server.py");
        // Debian's Python, which has Debian's packages.
        let mut command = Command::new("/usr/bin/python3");
        command.arg(script).arg(mode).stdin(Stdio::piped()).stdout(Stdio::piped());
        if mode != "plain" {
            command.arg(certificate).arg(key);
        }
        let mut child = command.spawn().expect("python3");
        let mut said = BufReader::new(child.stdout.take().expect("its output")).lines();
        let port = said.next().expect("python3-aiosmtpd, which tests/prerequisites installs").expect("a port");
        MailServer { child, said, port, directory }
    }

    /// The certificates that a client trusts in which only this server's is.
    pub fn certificate(&self) -> String {
        self.directory.path().join("mail.crt").display().to_string()
    }

    /// The URL of a mail from `from@sweep.example` to these addresses.
    pub fn url(&self, scheme: &str, login: &str, to: &str) -> String {
        format!("{scheme}://{login}localhost:{}/?from=Sweep%20%3Cfrom@sweep.example%3E&to={to}", self.port)
    }

    /// The next mail that was taken.
    pub fn next(&mut self) -> Value {
        let line = self.said.next().expect("a mail").expect("a line");
        serde_json::from_str(&line).expect("JSON")
    }

    /// What was taken and not asked for, after which the server ends.
    pub fn rest(mut self) -> Vec<String> {
        drop(self.child.stdin.take());
        self.said.by_ref().map(|line| line.expect("a line")).collect()
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
