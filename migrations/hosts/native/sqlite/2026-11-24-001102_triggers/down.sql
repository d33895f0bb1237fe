drop trigger log_recovery;
drop trigger close_lost_runs;
drop trigger pass_on_heartbeat;
drop trigger note_run_end;
drop trigger note_lost_runs;
drop table run_ends;
