-- The ledger as other views read it.

-- Each reason for a subject's state: the state, and the reason as people read it.
create view board_texts as
select r.key as reason, r.value ->> 'state' as state, r.value ->> 'text' as text
from {{ policy }} p cross join {{ entries("p.vocabulary", "reasons") }} r;

-- The ledger's open rows. One that a clock that was ahead has dated in the future belongs to the episode that it names: its own time says
-- nothing, and what came after that episode hides nothing.
create view open_recoveries as
select r.id, r.kind, r.subject_id, r.action, r.blocked_subject,
       case when r.created_at > {{ after(at_statement, "coalesce((select clock_ahead_max_seconds from policy), 0)") }}
            then r.episode_began_at else r.created_at end as since
from recoveries r where r.settled_at is null;

-- The exemptions of agents.
create view agent_exemptions as
select subject_id as agent_id, reason, until from exemptions where kind = 'agent';
