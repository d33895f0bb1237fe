-- Locks the session with its agent, against a pause, and with its issue, so that a sweep of issues does not continue it as well.
{{ take("session", "select (select a.id from agents a where a.id = s.agent_id for share skip locked),
           (select i.id from issues i where i.id = s.issue_id for update skip locked) into agent, issue
    from sessions s where s.id = wanted for update of s skip locked") }}
