drop table session_commands;
drop table sessions;
