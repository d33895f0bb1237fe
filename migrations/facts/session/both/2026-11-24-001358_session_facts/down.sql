drop view if exists session_facts;
drop view if exists session_episodes;
