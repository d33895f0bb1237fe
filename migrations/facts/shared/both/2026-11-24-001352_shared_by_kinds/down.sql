drop view if exists false_rescues;
drop view if exists issue_relaunches;
drop view if exists issue_sessions;
drop view if exists unserved_continuations;
drop view if exists wake_pickups;
drop view if exists unheard_runs;
drop view if exists untaken_wakes;
