drop view step_candidates;
drop view unattended_steps;
drop view step_subjects;
