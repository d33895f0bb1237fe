drop view session_facts;
drop view session_candidates;
drop view unattended_sessions;
drop view session_subjects;
drop view running_sessions;
