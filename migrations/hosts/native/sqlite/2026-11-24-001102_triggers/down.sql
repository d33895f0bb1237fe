drop trigger log_recovery;
