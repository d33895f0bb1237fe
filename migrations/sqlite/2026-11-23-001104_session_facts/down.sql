drop view session_facts;
drop view session_episodes;
drop view session_candidates;
drop view unattended_sessions;
drop view session_subjects;
