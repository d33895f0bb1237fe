drop function unstarted_reason;
drop view unstarted_issues;
