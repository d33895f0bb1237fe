-- The names of agents. A count by agent joins them last, since there may be very many rows.
create view agent_names as
select id as agent_id, substr(name, 1, 1000) as agent_name from agents;
