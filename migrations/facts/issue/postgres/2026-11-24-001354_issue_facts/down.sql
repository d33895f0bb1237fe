drop view issue_facts;
drop view issue_pending;
drop view issue_continuations;
