drop view held_actions;
drop view issue_waits;
drop view issue_gates;
drop function gates_by_agent;
drop view agent_gates;
drop function sound_agents, as_limit;
drop view answers;
