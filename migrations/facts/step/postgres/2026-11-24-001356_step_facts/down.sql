drop view step_facts;
