drop view if exists session_candidates;
drop view if exists unattended_sessions;
drop view if exists session_subjects;
