drop view false_rescues;
drop view if exists issue_relaunches;
drop view if exists issue_sessions;
drop view unserved_continuations;
{%- if "wake_pickups" not in brings %}
drop view wake_pickups;
{%- endif %}
drop view untaken_wakes;
