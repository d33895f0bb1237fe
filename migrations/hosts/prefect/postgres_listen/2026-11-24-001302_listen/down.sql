drop trigger if exists sweep_run_ended on public.flow_run;
drop function if exists notify_of_run_end;
