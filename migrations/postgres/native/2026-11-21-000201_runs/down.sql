alter table issues drop constraint issues_checkout_run_id_fkey;
drop table activity;
drop table comments;
drop table runs;
drop table wakes;
