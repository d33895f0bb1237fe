drop view if exists issue_facts;
drop view if exists issue_episodes;
drop view if exists issue_pending;
