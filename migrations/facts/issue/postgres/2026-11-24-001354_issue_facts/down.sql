drop view if exists issue_facts;
drop view if exists issue_pending;
drop view if exists issue_continuations;
