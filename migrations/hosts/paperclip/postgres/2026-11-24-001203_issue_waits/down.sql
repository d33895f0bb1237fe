drop view issue_waits;
drop view answers;
