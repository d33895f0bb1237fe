//! The program: what it prints, to whom, and that nothing others wrote does harm.

use crate::support::program::sweep;
use crate::support::world::{On, World, on_each_host};

const USAGE: i32 = 64;

on_each_host! {
    fn the_table_leads_from_what_needs_a_person_to_what_can_be_done(world) {
        let agent = world.agent("idle");
        let issue = world.escalated_issue(&agent);
        let name = world.text("identifier", &format!("issues where id = '{issue}'")).expect("a name");
        let written = world.written();

        let shown = sweep(["attention", "--database", &world.url]).run().done();

        for part in ["1 thing needs a person, the oldest first", "escalated for ", "no attempt is left", "Tried: one ",
            "Or say what it waits for, or close it.", "Each day of the last four weeks"] {
            assert!(shown.out.contains(part), "{part}: {shown}");
        }
        // The database was typed, so it is in the command.
        assert!(shown.out.contains(&format!("sweep explain issue {name} --database ")), "{shown}");
        let by_environment = sweep(["attention"]).env("DATABASE_URL", &world.url).run().done();
        assert!(by_environment.out.contains(&format!("sweep explain issue {name}\n")), "{by_environment}");
        assert_eq!(world.written(), written, "it only reads");
    }

    fn what_others_wrote_neither_reaches_a_shell_nor_changes_a_terminal(world) {
        let agent = world.agent("idle");
        let issue = world.escalated_issue(&agent);
        let escape = if world.on == On::Sqlite { "char(27)" } else { "chr(27)" };
        for (identifier, command) in [
            ("'$(reboot); `id` ''x'''", Some(r#"sweep explain issue '$(reboot); `id` '\''x'\'''"#)),
            ("'--database=x'", None),
            (&*format!("'a' || {escape} || '[2J'"), None),
        ] {
            world.set("issues", &issue, &format!("identifier = {identifier}, title = {escape} || '[2J<script>'"));
            let by_id = format!("sweep explain issue {issue}");

            let shown = sweep(["attention", "--database", &world.url]).run().done();

            assert!(shown.out.contains(command.unwrap_or(&by_id)), "{identifier}: {shown}");
            assert!(shown.out.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", shown.out);
        }
    }
}

#[test]
fn several_databases_are_shown_one_after_the_other() {
    let worlds = [World::new(On::Sqlite), World::new(On::Postgres)];
    let urls = worlds.each_ref().map(|world| world.url.as_str());
    let asked = |output| sweep(["attention", "--output", output, "--database", urls[0], "--database", urls[1]]);

    let (table, json) = (asked("table").run().done(), asked("json").run().done().json());

    assert!(table.out.contains("2 databases. Nothing needs a person"), "{table}");
    assert_eq!(json["databases"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["databases"][1]["sweeper"]["state"], "never");
    let refused = sweep(["attention", "--after", "-~guard~0", "--database", urls[0], "--database", urls[1]]).run();
    refused.refused(USAGE, &["--after: expected one database"]);
}
