//! Where there are plan steps, and tenants.

use sweep::conclusion::Conclusion;
use sweep::sweep::Options;

use crate::support::world::on_each_database;

on_each_database! {
    fn a_kind_that_is_guarded_does_not_hold_up_the_other(world) {
        let agent = world.agent("idle");
        let issues = world.orphans(&agent, 0..25);
        world.stalled_steps(&agent, 0..5);

        let swept = world.sweep_as(&world.guarded());
        assert_eq!(
            (swept.exit, swept.guard("issues"), swept.guard("steps")),
            (Conclusion::Guarded, Some((25, 25)), None)
        );
        assert_eq!((swept.count("issues", "continued"), swept.count("steps", "continued")), (0, 5));

        world.declare_waits(&issues[3..]);
        world.stalled_steps(&agent, 5..30);
        let swept = world.sweep_as(&world.guarded());
        assert_eq!(
            (swept.exit, swept.guard("issues"), swept.guard("steps")),
            (Conclusion::Guarded, None, Some((25, 30)))
        );
        assert_eq!((swept.count("issues", "continued"), swept.count("steps", "continued")), (3, 0));
    }

    fn of_one_tenant_only_its_own_work_counts(world) {
        let agent = world.agent("idle");
        let issues = world.orphans(&agent, 0..25);
        world.healthy(&agent, 40);
        world.run("update issues set tenant = 'acme' where identifier in ('N-500000', 'N-500001')");
        for issue in &issues {
            world.set("issues", issue, "tenant = 'acme'");
        }
        let of_acme = Options { tenant: Some("acme".to_owned()), ..world.guarded() };

        assert_eq!(world.sweep_as(&of_acme).guard("issues"), Some((25, 27)));
        // And it is judged by its own work when others are swept as well: see attacks/guard.
        let of_all = world.sweep_as(&world.guarded());
        assert_eq!((of_all.guard("issues"), of_all.count("issues", "deferred")), (None, 25));
    }
}
