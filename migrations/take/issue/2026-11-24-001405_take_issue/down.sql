drop function if exists take_issue;
