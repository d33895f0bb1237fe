drop view step_facts;
drop view step_pending;
drop view step_episodes;
drop view step_candidates;
drop view unattended_steps;
drop view step_subjects;
