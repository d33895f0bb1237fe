//! A plan's page, and the plans that the front page names.

use crate::support::page::{ask, attributes, fields, html, links, served};
use crate::support::world::on_each_database;

on_each_database! {
    fn a_plans_page_has_its_steps_in_order_who_has_each_for_how_long_and_what_was_tried(world) {
        let agent = world.agent("idle");
        let (plan, step) = world.stalled_step(Some(&agent));
        let id = world.new_id();
        world.run(&format!(
            "insert into plan_steps (id, plan_id, position, title, status)
             values ({id}, '{plan}', 2, 'Ship <it>', 'pending')"
        ));
        for _ in 0..2 {
            world.sweep();
            world.end_continuations("failed");
            world.pass(90);
        }
        let page = served(&world.url);
        let shown = html(&page, &format!("/plans/{plan}"));
        assert_eq!(fields(&shown, "title"), ["Launch"]);
        assert_eq!(attributes(&shown, "data-derived"), ["stalled"]);
        assert_eq!(attributes(&shown, "data-of"), ["escalated", "pending"]);
        assert_eq!(fields(&shown, "progress"), ["0% done: 0 of 2 steps"]);
        assert_eq!(fields(&shown, "current"), ["At step 1: Pack"]);
        assert!(fields(&shown, "how")[0].starts_with("stalled for 5h"), "{shown}");
        let lasting = &fields(&shown, "lasting")[0];
        assert!(lasting.starts_with("in progress for 5h") && lasting.ends_with("its limit is 30m"), "{lasting}");
        let tried = fields(&shown, "tried");
        let words = ["continued, 3h", "a person was notified, 1h"];
        assert!(tried[0].starts_with(words[0]) && tried[1].starts_with(words[1]), "{tried:?}");
        for link in [format!("/steps/{step}"), format!("/agents/{agent}"), format!("/steps?plan={plan}")] {
            assert!(links(&shown).contains(&link), "{link}: {:?}", links(&shown));
        }
        let steps = html(&page, &format!("/steps?plan={plan}"));
        assert!(steps.contains(">Launch</a>") && steps.contains("<a href=\"/steps\">of all plans</a>"), "{steps}");
        assert_eq!(html(&page, "/plans/Launch").matches("data-step=").count(), 2, "by its title");
        assert!(shown.contains("Ship &#60;it&#62;") && !shown.contains("<it>"));
        assert_eq!(ask(&page, "GET /plans/nowhere", &[]).status, 404);
    }

    fn the_front_page_names_the_plans_with_stalled_steps_how_many_and_for_how_long(world) {
        let agent = world.agent("idle");
        let (plan, _) = world.stalled_step(Some(&agent));
        let page = served(&world.url);
        let front = html(&page, "/");
        assert_eq!(fields(&front, "plans"), ["1 plan has a stalled step"]);
        assert_eq!(attributes(&front, "data-plan"), [plan.0]);
        assert_eq!(attributes(&front, "data-stalled"), ["1"]);
        assert!(front.contains("stalled for 2h") && front.contains("1 step is stalled"), "{front}");
        world.run("update plan_steps set status = 'completed'");
        let page = served(&world.url);
        assert_eq!(fields(&html(&page, "/"), "plans"), Vec::<String>::new());
        let totals = "0 plans have steps in progress, 0 of them are stalled.";
        assert_eq!(fields(&html(&page, "/plans"), "totals"), [totals]);
    }

    fn a_long_plan_is_shown_by_the_page_around_what_is_open(world) {
        let (plan, step) = world.stalled_step(None);
        world.set("plan_steps", &step, "position = 1000");
        world.long_plan(&plan, 350);
        let page = served(&world.url);
        let shown = html(&page, &format!("/plans/{plan}"));
        assert_eq!(fields(&shown, "range"), ["Steps 341 to 351 of 351"]);
        let earlier = links(&shown).into_iter().find(|link| link.contains("from=")).expect("earlier steps");
        assert_eq!(earlier, format!("/plans/{plan}?from=240"));
        assert_eq!(attributes(&html(&page, &earlier), "data-step").len(), 100);
        for from in [351, 99_999] {
            let last = html(&page, &format!("/plans/{plan}?from={from}"));
            assert_eq!(fields(&last, "range"), ["There are no more steps than 351"]);
            assert!(links(&last).contains(&format!("/plans/{plan}?from=251")), "earlier steps");
        }
        assert_eq!(ask(&page, &format!("GET /plans/{plan}?from=x"), &[]).status, 404);
    }
}
