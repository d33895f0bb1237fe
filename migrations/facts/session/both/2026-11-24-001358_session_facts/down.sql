drop view session_facts;
drop view session_episodes;
