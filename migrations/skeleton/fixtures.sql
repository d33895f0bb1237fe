-- How `sweep host verify` makes work, in your own tables. Each block is a template: {{ '{{ agent }}' }} and {{ '{{ issue }}' }} are ids that nothing
-- has yet, {{ '{{ at }}' }} is a time{{ " such as '2026-11-24T08:00:00.000Z'" if sqlite }}, {{ '{{ count }}' }} a number and {{ '{{ id }}' }} one more id.

-- fixture agent
-- Makes {{ '{{ agent }}' }}, which may be woken.

-- fixture agent: paused
-- From now on {{ '{{ agent }}' }} must not be woken. Remove this block if agents cannot be paused.

-- fixture issue
-- Makes {{ '{{ issue }}' }}: in progress, {{ '{{ agent }}' }}'s, and nobody has been at work on it since {{ '{{ at }}' }}.

-- fixture issue: at work
-- Since {{ '{{ at }}' }} {{ '{{ agent }}' }} has been at work on {{ '{{ issue }}' }}, and is now: with a sign of life of this moment, if there are such.

-- fixture issue: stops
-- What was at work on {{ '{{ issue }}' }} ended at {{ '{{ at }}' }}, and it is in progress as before.

-- fixture issue: dies
-- What was at work on {{ '{{ issue }}' }} gave its last sign of life at {{ '{{ at }}' }}, and says still that it is running. Remove this block if there
-- are no signs of life.

-- fixture issue: queued
-- At {{ '{{ at }}' }} your scheduler queued a wake of {{ '{{ issue }}' }} by itself, which nobody has taken up yet.

-- fixture issue: wakes
-- One query: how many wakes of {{ '{{ issue }}' }} wait in your queue?
select 0

-- fixture issue: taken up
-- Your scheduler took up the wake that waited for {{ '{{ issue }}' }}, and {{ '{{ agent }}' }} has been at work since {{ '{{ at }}' }}.

-- fixture issue: claimed
-- Your scheduler took the wake that waited for {{ '{{ issue }}' }} at {{ '{{ at }}' }}, and nothing has begun. Remove this block if both are one step.

-- fixture issue: finished
-- {{ '{{ issue }}' }} was finished at {{ '{{ at }}' }}, and nobody is at work on it any more.

-- fixture issue: escalated
-- One query: what do people see of {{ '{{ issue }}' }} when it was escalated? No row if it was not.
select 'nothing' where false

-- fixture issue: noted
-- Somebody wrote {{ '{{ words }}' }} where an escalation writes as well. Remove this block if there is no such place.

-- fixture issue: crowd
-- Makes {{ '{{ count }}' }} finished issues of {{ '{{ agent }}' }}, with what was at work on them.
