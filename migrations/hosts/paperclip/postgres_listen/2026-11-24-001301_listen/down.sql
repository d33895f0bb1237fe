drop trigger if exists sweep_run_ended on public.heartbeat_runs;
drop function if exists notify_of_run_end;
