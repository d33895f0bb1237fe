-- Locks the step with its plan, whose status may change, with its agent, against a pause, and with its issue:
-- decisions.md#linked-work
{{ take("step", "select (select a.id from agents a where a.id = p.agent_id for share skip locked),
           (select i.id from issues i where i.id = p.issue_id for update skip locked) into agent, issue
    from plan_steps s join plans p on p.id = s.plan_id where s.id = wanted
    for update of s skip locked for no key update of p skip locked", native) }}
