drop trigger sweep_run_ended on public.flow_run;
drop function notify_of_run_end;
