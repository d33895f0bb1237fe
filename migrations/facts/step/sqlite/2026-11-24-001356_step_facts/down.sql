drop view if exists step_facts;
drop view if exists step_pending;
drop view if exists step_episodes;
