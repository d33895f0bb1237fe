drop view if exists agent_names;
