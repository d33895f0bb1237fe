drop view if exists interventions;
drop view if exists agent_exemptions;
drop view if exists open_recoveries;
drop view if exists board_texts;
