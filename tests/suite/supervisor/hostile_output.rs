//! Output and messages that want to be more than text.

use crate::support::program::{command_at, sweep, sweep_at};
use crate::support::wait::wait_for;
use crate::support::watcher::{READ, Watcher};
use crate::support::world::{On, World, on_each_database};

/// Titles, the clipboard, another screen, C1 controls, invalid UTF-8, NULs, formats of tmux, shells and SQL.
pub const HOSTILE: &str = r#"
printf '\033]0;owned\007\033]52;c;aGVsbG8=\007\033[?1049h\033[2J\033[31mred\033[0m\n'
printf 'nul \000 bell \007 del \177 c1 \302\233 31m back \b end\n'
printf 'bad \377\376\303\050 utf-8\n'
printf '#(touch %s/ran) $(touch %s/ran) `touch %s/ran` '"'; drop table sessions; --\n" "$PWD" "$PWD" "$PWD"
printf '\342\200\256 reversed \033]8;;https://evil.example\033\\link\033]8;;\033\\\n'
"#;

fn is_harmless(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() && c != '\n')
}

on_each_database! {
    fn hostile_output_is_kept_as_text_and_printed_as_text(world) {
        let script = format!("{HOSTILE} read x; exit 0 # \u{1b}]0;owned\u{7}");
        let mut watcher = Watcher::watch_script(&world.url, &["--set", "nudges_max=0"], &script);
        world.until_recovered("escalate");
        let kept = world.of_agent("recent_output").expect("output");
        assert!(is_harmless(&kept) && kept.lines().count() == 5, "{kept:?}");
        assert!(kept.contains("red\nnul bell del c1 31m back end\nbad "), "{kept:?}");
        assert!(world.of_agent("title").is_some_and(|title| is_harmless(&title) && title.contains("owned")));

        let url = &world.url;
        for ran in [
            command_at(url, ["explain", "session", "agent"]).run().done(),
            command_at(url, ["explain", "session", "agent", "--output", "json"]).run().done(),
            command_at(url, ["status"]).run().done(),
            command_at(url, ["status", "--output", "json"]).run().done(),
            sweep_at(url, ["--dry-run", "--session", "agent"]).run().done(),
            sweep_at(url, ["--dry-run", "--session", "agent", "--output", "json"]).run().done(),
            sweep_at(url, ["--dry-run", "--session", "agent", "--output", "ndjson"]).run().done(),
        ] {
            assert!(is_harmless(&ran.out) && is_harmless(&ran.err), "{ran}");
        }

        watcher.screen.types("\r");
        let ended = watcher.end();
        assert_eq!(ended.code, 0);
        assert!(!ended.home.path().join("ran").exists());
    }

    fn a_message_is_typed_without_the_keys_in_it(world) {
        let watcher = Watcher::watch_script(
            &world.url,
            &["--no-examine"],
            &format!("echo ready; {READ}; echo \"got $x.\" | cat -v; read x"),
        );
        watcher.until_it_prints("ready");
        world.queue("nudge", "a\u{1b}[2J\u{3}\u{4}b\n\r$(touch ran) `touch ran` #(touch ran);");
        watcher.until_it_prints("got (sweep) a[2Jb$(touch ran) `touch ran` #(touch ran);.");
        let ended = watcher.stop();
        assert!(!ended.home.path().join("ran").exists());
    }

    /// Tags and reversed letters would say to an agent what nobody sees in the row.
    fn a_message_is_typed_as_it_can_be_seen(world) {
        let watcher = Watcher::watch_script(
            &world.url,
            &["--no-examine"],
            &format!("echo ready; {READ}; echo \"got $x.\" | cat -v; read x"),
        );
        watcher.until_it_prints("ready");
        world.queue("nudge", "go\u{202e} \u{e0064}\u{e0069}\u{e0065}on\u{200b}\u{fe01}");
        watcher.until_it_prints("got (sweep) go on.");
        watcher.stop();
    }

    fn a_flood_of_output_is_watched_as_it_comes(world) {
        let script = "i=0; while [ $i -lt 4 ]; do yes 'a line of a flood' | head -c 2000000; i=$((i + 1)); done; exit \
            0";
        let ended = Watcher::watch_script(&world.url, &[], script).end();
        assert_eq!(ended.code, 0);
        assert!(8_000_000 < ended.text.len());
        wait_for("the last lines", || {
            world.of_agent("recent_output").filter(|output| output.contains("a line of a flood"))
        });
        assert_eq!(world.of_agent("status").as_deref(), Some("terminated"));
    }
}

#[test]
fn what_looks_like_a_credential_on_the_command_line_is_not_kept() {
    let mut world = World::new(On::Sqlite);
    let words = ["watch", "--database", &world.url, "--name", "agent", "--", "echo", "--token=hunter2hunter2"];
    assert_eq!(sweep(words).run().code, 0);
    assert_eq!(world.of_agent("title").as_deref(), Some("echo --token=***"));
    assert_eq!(world.of_agent("recent_output").as_deref(), Some("--token=***"));
}

#[test]
fn an_id_does_not_choose_where_the_log_is() {
    let mut world = World::new(On::Sqlite);
    world.run("insert into sessions (id) values ('../../../evil')");
    let words = ["--database", &world.url, "--session", "../../../evil", "--", "sh", "-c", "echo oh; exit 3"];
    let ended = Watcher::with(&words).end();
    assert_eq!(ended.code, 3, "{}", ended.text);
    let log = ended.log().expect("a log in its place");
    let name = log.file_name().and_then(|name| name.to_str()).expect("a name");
    assert!(name.starts_with("_________evil."), "{}", log.display());
}
