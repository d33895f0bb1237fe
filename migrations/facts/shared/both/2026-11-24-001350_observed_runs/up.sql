-- The runs, with the evidence that one is lost whose status says that it is live. How long a run that holds no lease may be silent, Rust decides.
-- decisions.md#signs-of-life
create view observed_runs as
select r.id, r.agent_id, r.issue_id, {% if steps %}r.plan_step_id, {% endif %}r.wake_id, r.retry_reason, r.status, r.created_at, r.finished_at,
       r.heartbeat_at, r.lease_seconds, {{ is_live("r") }} as is_live, case when r.status {{ live }} then case
            when r.lost is not null then substr(r.lost, 1, 200)
{%- if native %}
            when {{ is_over("r") }} then 'its worker has started again'
{%- endif %}
            when r.lease_seconds is not null and not {{ holds_lease("r") }} then 'its lease has run out' end end as lost
from runs r;
