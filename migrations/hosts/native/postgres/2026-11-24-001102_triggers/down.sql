drop trigger log_recovery on recoveries;
drop trigger notify_of_run_end on runs;
drop function log_recovery, notify_of_run_end;
alter table issues drop constraint issues_checkout_run_id_fkey;
