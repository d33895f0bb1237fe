//! The links of a status into the host's own pages: they are added to what was read.

use super::{PlanReport, Status};
use crate::rules::Kind;
use crate::store::hosts::links::{Links, SubjectPage};

impl Status {
    pub fn with_links(mut self, links: &Links) -> Status {
        let Status { orphans, escalations, abandoned, stuck_wakes, quarantined, .. } = &mut self;
        for work in orphans.iter_mut().chain(escalations).chain(abandoned) {
            let (identifier, tenant) = (work.identifier.as_deref(), Some(work.tenant.as_str()));
            let agent = work.agent_id.as_ref();
            work.url = links.to(&SubjectPage { kind: work.kind, id: &work.id, identifier, tenant, agent });
        }
        for wake in stuck_wakes {
            let (Some(kind), Some(id)) = (wake.kind.as_deref().and_then(Kind::parse), &wake.subject_id) else {
                continue;
            };
            let (identifier, tenant) = (wake.identifier.as_deref(), Some(wake.tenant.as_str()));
            wake.url = links.to(&SubjectPage { kind, id, identifier, tenant, agent: None });
        }
        for row in quarantined {
            let Some(kind) = Kind::parse(&row.kind) else { continue };
            let identifier = row.identifier.as_deref();
            row.url = links.to(&SubjectPage { kind, id: &row.id, identifier, tenant: None, agent: None });
        }
        self
    }
}

impl PlanReport {
    /// A step of a plan is shown by its title, and has no identifier there.
    pub fn with_links(mut self, links: &Links) -> PlanReport {
        for step in &mut self.steps {
            let tenant = Some(self.plan.tenant.as_str());
            step.url = links.to(&SubjectPage { kind: Kind::Step, id: &step.id, identifier: None, tenant, agent: None });
        }
        self
    }
}
