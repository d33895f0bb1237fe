//! A reader who follows a page: one shell in an empty directory with `examples/`, and one block after the other.

use std::fmt::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::blocks::Block;
use crate::support::program::BINARY;

/// How a reader runs SQL in their database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    Psql,
    Sqlite,
}

pub struct Reader {
    pub directory: TempDir,
    client: Client,
    /// The DATABASE_URL that is set before the first block.
    database_url: Option<String>,
}

/// The output of one block, command by command.
pub type Printed = Vec<String>;

impl Reader {
    pub fn new(client: Client, database_url: Option<String>) -> Reader {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        symlink(root.join("examples"), directory.path().join("examples")).expect("a link");
        Reader { directory, client, database_url }
    }

    /// Follows all these blocks in one shell. A block of commands alone must succeed.
    pub fn follow(&self, blocks: &[Block]) -> Vec<Printed> {
        let out = tempfile::tempdir().expect("a temporary directory");
        let file = |block: usize, n: usize| out.path().join(format!("{block}-{n}")).display().to_string();
        let mut script = String::new();
        for (number, block) in blocks.iter().enumerate() {
            for (n, command) in self.commands(block, &file(number, 99)).into_iter().enumerate() {
                let file = file(number, n);
                let _ = match block.is_endless() {
                    false => writeln!(script, "{{\n{command}\n}} >{file} 2>&1 </dev/null; echo $? >{file}.code"),
                    true => writeln!(script, "{}", ended_after(block.shown_lines(), &command, &file)),
                };
            }
        }
        self.shell(&script);
        let printed = |(number, block): (usize, &Block)| {
            let commands = self.commands(block, &file(number, 99));
            let of = |(n, command): (usize, &String)| {
                let read =
                    |name: String| std::fs::read_to_string(name).unwrap_or_else(|_| panic!("not run: {command}"));
                let (text, code) = (read(file(number, n)), read(format!("{}.code", file(number, n))));
                let must_succeed = block.language != "console";
                assert!(!must_succeed || code == "0\n", "exit {code}of: {command}\n{text}");
                let lines = if block.is_endless() { block.shown_lines() } else { usize::MAX };
                let text: String = text.split_inclusive('\n').take(lines).collect();
                text.replace(&*self.directory.path().to_string_lossy(), "/home/ada")
            };
            commands.iter().enumerate().map(of).collect()
        };
        blocks.iter().enumerate().map(printed).collect()
    }

    fn commands(&self, block: &Block, sql: &str) -> Vec<String> {
        match (block.language.as_str(), self.client) {
            ("console", _) => block.commands().into_iter().map(|(command, _)| command).collect(),
            ("sql", client) => {
                std::fs::write(sql, &block.text).expect("a file");
                vec![match client {
                    Client::Psql => format!("psql \"$DATABASE_URL\" -Xq -v ON_ERROR_STOP=1 -f {sql}"),
                    Client::Sqlite => format!("python3 -c '{IN_PYTHON}' \"$DATABASE_URL\" {sql}"),
                }]
            }
            _ => vec![block.text.clone()],
        }
    }

    fn shell(&self, script: &str) {
        let home = tempfile::tempdir().expect("a temporary directory");
        let binaries = Path::new(BINARY).parent().expect("a directory").display();
        let mut shell = Command::new("bash");
        shell.arg("-c").arg(script).current_dir(self.directory.path()).stdin(Stdio::null());
        shell.env_clear().env("HOME", home.path()).env("PATH", format!("{binaries}:/usr/local/bin:/usr/bin:/bin"));
        // Logs as at a terminal, where a reader sits.
        shell.env("SWEEP_LOG", "error,sweep::settings=warn");
        shell.envs(self.database_url.iter().map(|url| ("DATABASE_URL", url)));
        let ended = shell.output().expect("bash");
        assert!(ended.status.success(), "{}\n{script}", String::from_utf8_lossy(&ended.stderr));
    }
}

/// Runs a command that does not end by itself until it has printed so many lines, for half a minute at most. It logs as
/// without a terminal, and takes any port in place of the one that is shown.
fn ended_after(lines: usize, command: &str, file: &str) -> String {
    format!(
        "{{ exec env SWEEP_LOG=info SWEEP_HTTP=127.0.0.1:0 {command}\n}} >{file} 2>&1 </dev/null &\n\
         for _ in $(seq 600); do [ $(wc -l <{file}) -ge {lines} ] && break; sleep 0.05; done\n\
         kill $!; wait $!; echo $? >{file}.code; sed -i 's/127.0.0.1:[0-9]*/127.0.0.1:9464/' {file}"
    )
}

const IN_PYTHON: &str = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1].removeprefix(\"sqlite://\")); \
    db.execute(\"pragma foreign_keys = on\"); db.executescript(open(sys.argv[2]).read())";
