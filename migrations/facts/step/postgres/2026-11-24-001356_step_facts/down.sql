drop view if exists step_facts;
