-- The agent is locked against a pause; the issue as a sweep of issues does it, so that only one of both continues it.
{{ take("session", "select (select a.id from agents a where a.id = s.agent_id for share skip locked),
           (select i.id from issues i where i.id = s.issue_id for update skip locked) into agent, issue
    from sessions s where s.id = wanted for update of s skip locked") }}
