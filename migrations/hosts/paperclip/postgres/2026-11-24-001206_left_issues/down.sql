drop view left_issues;
