drop view issue_facts;
drop view issue_episodes;
drop view issue_pending;
