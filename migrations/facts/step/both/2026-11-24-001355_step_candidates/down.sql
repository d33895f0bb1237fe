drop view if exists step_candidates;
drop view if exists unattended_steps;
drop view if exists step_subjects;
