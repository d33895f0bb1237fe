drop view agent_names;
