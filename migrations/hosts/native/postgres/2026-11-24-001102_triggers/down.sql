drop trigger if exists log_recovery on recoveries;
drop trigger if exists close_lost_runs on recoveries;
drop trigger if exists pass_on_heartbeat on workers;
drop trigger if exists notify_of_run_end on runs;
drop trigger if exists notify_of_lost_runs on workers;
drop function if exists log_recovery, lock_runs, close_lost_runs, pass_on_heartbeat, notify_of_run_end, notify_of_lost_runs;
alter table issues drop constraint issues_checkout_run_id_fkey;
drop view if exists run_locks;
