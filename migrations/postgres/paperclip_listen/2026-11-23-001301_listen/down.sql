drop trigger sweep_run_ended on public.heartbeat_runs;
drop function tell_of_run_end;
