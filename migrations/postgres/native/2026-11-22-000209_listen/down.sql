drop trigger tell_of_run_end on runs;
drop function tell_of_run_end;
