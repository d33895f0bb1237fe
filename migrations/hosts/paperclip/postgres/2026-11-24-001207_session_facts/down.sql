drop view if exists session_facts;
drop view if exists session_candidates;
drop view if exists unattended_sessions;
drop view if exists session_subjects;
drop view if exists running_sessions;
