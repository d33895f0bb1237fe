-- The plan is locked since its status may change, its agent against a pause, the issue as a sweep of issues does it:
-- of all that works on one issue, only one is continued.
{{ take("step", "select (select a.id from agents a where a.id = p.agent_id for share skip locked),
           (select i.id from issues i where i.id = p.issue_id for update skip locked) into agent, issue
    from plan_steps s join plans p on p.id = s.plan_id where s.id = wanted
    for update of s skip locked for no key update of p skip locked") }}
