drop table activity;
drop table comments;
drop table runs;
drop table wakes;
