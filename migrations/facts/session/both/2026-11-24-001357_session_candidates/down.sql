drop view session_candidates;
drop view unattended_sessions;
drop view session_subjects;
