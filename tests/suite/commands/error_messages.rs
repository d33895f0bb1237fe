//! About a hundred mistakes, and what is printed of each: read the snapshot as their table of contents.
//!
//! Each names the setting, option or row, the value unless it may be a secret, what was expected, and where it helps
//! what to do.

mod mistakes;

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::program::{BINARY, Program, migrate_at, sweep};
use crate::support::scratch::{Role, Scratch};
use crate::support::world::{On, World};
use mistakes::{Group, LINES};

/// What the mistakes are made beside: files in the directory where each is run, and two databases.
struct Scene {
    directory: tempfile::TempDir,
    postgres: World,
    unmigrated: Scratch,
    stranger: Role,
    reader: Role,
}

impl Scene {
    fn new() -> Scene {
        let (stranger, reader) = (Role::new(), Role::new());
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        let at = |file: &str| format!("sqlite://{}", path.join(file).display());
        migrate_at(&at("agents.db"), []).run().done();
        let mut embedded = World::at(On::Sqlite, at("agents.db"), None);
        let agent = embedded.agent("idle");
        let issue = embedded.orphan(&agent);
        embedded.set("issues", &issue, "identifier = 'ACM-12', tenant = 'acme'");
        for (n, title) in [(1, "Release"), (2, "Twice"), (3, "Twice")] {
            let id = format!("00000000-0000-4000-8000-00000000000{n}");
            embedded.run(&format!("insert into plans (id, title) values ('{id}', '{title}')"));
        }
        let plan = sweep(["--dry-run", "--output", "json", "--database", &at("agents.db")]).run().done().out;
        fs::create_dir(path.join("data")).expect("a directory");
        let files: [(&str, &str, u32); 13] = [
            ("plan.json", &plan, 0o600),
            ("other.json", &plan.replace(&path.display().to_string(), "/elsewhere"), 0o600),
            ("done.json", &plan.replace("dry_run", "sweep"), 0o600),
            ("notes.txt", "Dear diary, the password is secret.\n", 0o600),
            ("empty", "\n", 0o600),
            ("empty.db", "", 0o600),
            ("good.url", &at("agents.db"), 0o600),
            ("open.url", &at("agents.db"), 0o666),
            ("no-setting.env", "# settings\nthe limit is 3\n", 0o600),
            ("misspelt.env", "SWEEP_LIMIT=3\nSWEEP_ORFAN_GRACE=1m\n", 0o600),
            ("twice.env", "SWEEP_LIMIT=3\nSWEEP_LIMIT=4\n", 0o600),
            ("bad-value.env", "\n# how much\nSWEEP_LIMIT=many\n", 0o600),
            ("open.env", "SWEEP_WEBHOOK_SECRET=secret\n", 0o666),
        ];
        for (name, text, mode) in files {
            fs::write(path.join(name), text).expect("a file");
            fs::set_permissions(path.join(name), fs::Permissions::from_mode(mode)).expect("rights");
        }
        fs::copy(path.join("agents.db"), path.join("read-only.db")).expect("a copy");
        fs::set_permissions(path.join("read-only.db"), fs::Permissions::from_mode(0o400)).expect("rights");
        let mut postgres = World::new(On::Postgres);
        postgres.run(&format!("grant usage on schema sweep to {0}", reader.name));
        Scene { directory, postgres, unmigrated: Scratch::empty(), stranger, reader }
    }

    /// The names that stand for what each run of the test has of its own.
    fn names(&self) -> Vec<(&'static str, String)> {
        let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port").port();
        vec![
            ("{socket}", self.socket()),
            ("{stranger}", self.stranger.at(&self.postgres.url)),
            ("{reader}", self.reader.at(&self.postgres.url)),
            ("{unmigrated}", self.unmigrated.url.clone()),
            ("{postgres}", self.postgres.url.clone()),
            ("{nobody}", crate::support::databases::database_url("no_such_database")),
            ("{the stranger}", self.stranger.name.clone()),
            ("{the reader}", self.reader.name.clone()),
            ("{the unmigrated}", self.unmigrated.name().to_owned()),
            ("{here}", self.directory.path().display().to_string()),
            ("{port}", port.to_string()),
        ]
    }

    /// The server's socket, as libpq names it.
    fn socket(&self) -> String {
        let url = percent_encoding::percent_decode_str(&self.postgres.url).decode_utf8_lossy().into_owned();
        let value = |name: &str| {
            url.split(['?', '&']).find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned)
        };
        format!("{}/.s.PGSQL.{}", value("host").unwrap_or_default(), value("port").unwrap_or("5432".to_owned()))
    }

    /// What is printed of one line, such as `SWEEP_LIMIT=x sweep --dry-run`.
    fn printed(&self, line: &str) -> String {
        let names = self.names();
        let words = shell_words::split(line).expect("a line of a shell");
        let given = |word: &String| names.iter().fold(word.clone(), |word, (name, value)| word.replace(name, value));
        let (variables, arguments): (Vec<_>, Vec<_>) = {
            let at = words.iter().position(|word| word == "sweep").expect("a command");
            (words[..at].iter().map(given).collect(), words[at + 1..].iter().map(given).collect())
        };
        let mut command = Command::new(BINARY);
        command.args(arguments).current_dir(self.directory.path());
        let mut program = Program::from_command(command).env("SWEEP_NOTIFY_PRIVATE", "on");
        for (name, value) in variables.iter().map(|variable| variable.split_once('=').expect("NAME=VALUE")) {
            program = program.env(name, value);
        }
        let (home, ran) = program.run_at_home();
        let plain = names
            .iter()
            .fold(ran.err.replace(&home.display().to_string(), "~"), |text, (name, value)| text.replace(value, name));
        // All of a long list of rights: that it is whole, another test says.
        let plain = plain.split(", SELECT on sweep.").enumerate().fold(String::new(), |text, (n, part)| match n {
            0 => part.to_owned(),
            1..=2 => format!("{text}, SELECT on sweep.{part}"),
            _ => part.split_once(". ").map_or(text.clone(), |(_, rest)| format!("{text}, …. {rest}")),
        });
        let errors = plain.lines().filter(|line| line.starts_with("sweep")).collect::<Vec<_>>().join("\n");
        for part in ["secret", "panicked", "Error(", "Os {"] {
            assert!(!errors.contains(part), "{line}: {errors}");
        }
        assert_ne!(ran.code, 0, "{line}: {}", ran.out);
        format!("$ {line}\n[{}] {errors}\n", ran.code)
    }
}

#[test]
fn each_mistake_is_reported_in_words_that_help() {
    let scene = Scene::new();
    let mut text = String::new();
    for Group { title, lines } in LINES {
        let _ = write!(text, "\n## {title}\n\n");
        let printed: Vec<String> = lines.iter().map(|line| scene.printed(line)).collect();
        text += &printed.join("\n");
    }
    insta::assert_snapshot!(text);
}
