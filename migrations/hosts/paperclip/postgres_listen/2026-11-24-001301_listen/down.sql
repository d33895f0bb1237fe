drop trigger sweep_run_ended on public.heartbeat_runs;
drop function notify_of_run_end;
