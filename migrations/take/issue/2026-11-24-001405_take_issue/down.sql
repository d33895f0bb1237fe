drop function take_issue;
