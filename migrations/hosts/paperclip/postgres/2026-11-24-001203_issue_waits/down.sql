drop view if exists held_actions;
drop view if exists issue_waits;
drop view if exists issue_gates;
drop function if exists gates_by_agent;
drop view if exists agent_gates;
drop function if exists sound_agents, as_limit;
drop view if exists answers;
