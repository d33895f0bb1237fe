drop view step_facts;
drop view step_pending;
drop view step_episodes;
