-- Locks the issue with its agent, so that a pause and a wake exclude each other.
{{ take("issue", "select (select a.id from agents a where a.id = i.assignee_agent_id for share skip locked), null into agent, issue
    from issues i where i.id = wanted for update of i skip locked", native) }}
