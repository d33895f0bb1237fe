drop function if exists unstarted_reason;
drop view if exists unstarted_issues;
