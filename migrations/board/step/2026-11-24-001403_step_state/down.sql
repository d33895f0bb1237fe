drop view step_work_state;
{{ drop_take("step") }}
drop view step_decided_facts;
