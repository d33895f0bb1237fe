-- Views of the ledger for other views.

-- The reasons for a subject's state: the state that each means, and its text for people.
create view board_texts as
select r.key as reason, {{ member("r.value", "state") }} as state, {{ member("r.value", "text") }} as text
from {{ policy }} p cross join {{ entries("p.vocabulary", "reasons") }} r;

-- The ledger's open rows. A row in the future is the mistake of a clock: `since` is then the beginning of the episode that it names.
-- decisions.md#times-in-the-future
create view open_recoveries as
select r.id, r.kind, r.subject_id, r.action, r.blocked_subject,
       case when r.created_at > {{ after(at_statement, "coalesce((select clock_ahead_max_seconds from policy), 0)") }}
            then r.episode_began_at else r.created_at end as since
from recoveries r where r.settled_at is null;

-- What sweeps did, without what became of it. In the turns of a scan the tenant comes first for which nothing was done for the longest time.
create view interventions as
select kind, subject_id, tenant, created_at, settled_at from recoveries where action not in ('recover', 'hand_over');

-- The exemptions of agents.
create view agent_exemptions as
select subject_id as agent_id, reason, until from exemptions where kind = 'agent';
