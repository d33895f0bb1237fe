drop view unstarted_issues;
