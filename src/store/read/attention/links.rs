//! Links into the host's own pages, and the commands that help: they are added to what was read.

use super::Attention;
use crate::rules::Id;
use crate::store::hosts::links::{Links, SubjectPage};

impl Attention {
    pub fn with_links(mut self, links: &Links) -> Attention {
        for item in &mut self.items {
            let Some((kind, id)) = item.subject() else { continue };
            let (identifier, tenant) = (item.identifier.as_deref(), item.tenant.as_deref());
            item.url = links.to(&SubjectPage { kind, id, identifier, tenant, agent: item.agent_id.as_ref() });
            let of_run = |(id, agent): &(Id, Id)| {
                links.to_run(&SubjectPage { kind, id, identifier, tenant, agent: Some(agent) })
            };
            item.cause_url = item.cause.as_ref().and(item.last_run.as_ref()).and_then(of_run);
            item.commands.extend(item.steps.iter().filter_map(|step| step.command(links.base.as_ref())));
        }
        for planned in &mut self.next_sweep.subjects {
            let (identifier, tenant) = (planned.identifier.as_deref(), Some(planned.tenant.as_str()));
            let (kind, id, agent) = (planned.kind, &planned.id, planned.agent_id.as_ref());
            planned.url = links.to(&SubjectPage { kind, id, identifier, tenant, agent });
        }
        self
    }
}
