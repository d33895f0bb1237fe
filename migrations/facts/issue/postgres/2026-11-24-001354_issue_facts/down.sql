drop view issue_facts;
drop view issue_continuations;
