drop trigger log_recovery on recoveries;
drop trigger close_lost_runs on recoveries;
drop trigger pass_on_heartbeat on workers;
drop trigger notify_of_run_end on runs;
drop trigger notify_of_lost_runs on workers;
drop function log_recovery, lock_runs, close_lost_runs, pass_on_heartbeat, notify_of_run_end, notify_of_lost_runs;
alter table issues drop constraint issues_checkout_run_id_fkey;
drop view run_locks;
