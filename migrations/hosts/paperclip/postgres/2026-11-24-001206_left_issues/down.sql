drop view if exists left_issues;
