drop trigger if exists log_recovery;
drop trigger if exists close_lost_runs;
drop trigger if exists pass_on_heartbeat;
drop trigger if exists note_run_end;
drop trigger if exists note_lost_runs;
drop table if exists run_ends;
