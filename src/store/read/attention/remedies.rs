//! What the host's own facts say of the issues that are listed: what a person has to do here, and what the last run
//! said of its failure.

use std::collections::HashMap;

use diesel::QueryResult;

use super::items::{Command, Item, What};
use crate::rules::board::{Need, advice};
use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::hosts::host_steps::{HostStep, Remedy, remedies};

pub fn with_remedies(mut items: Vec<Item>, db: &mut Db, usual_advice: &str) -> QueryResult<Vec<Item>> {
    let is_issue = |item: &&Item| item.kind == Some(Kind::Issue);
    let ids: Vec<Id> = items.iter().filter(is_issue).filter_map(|item| item.id.clone()).collect();
    if ids.is_empty() {
        return Ok(items);
    }
    let known = remedies(db, &ids)?.into_iter().map(|remedy| (remedy.issue.clone(), remedy));
    let known: HashMap<Id, Remedy> = known.collect();
    for item in items.iter_mut().filter(|item| item.kind == Some(Kind::Issue)) {
        let Some(remedy) = item.id.as_ref().and_then(|id| known.get(id)) else { continue };
        item.cause.clone_from(&remedy.last_error);
        item.last_run.clone_from(&remedy.last_run);
        if item.is_advised_by_its_host() && remedy.advice != usual_advice {
            item.advice = advice(Need::Blocked(&remedy.advice));
            item.steps.clone_from(&remedy.steps);
            let has_calls =
                !item.steps.is_empty() && item.steps.iter().all(|step| matches!(step, HostStep::Call { .. }));
            item.offers = if has_calls { &[Command::Explain, Command::Wake] } else { &[Command::Explain] };
        }
    }
    Ok(together(items))
}

/// Those with one cause stand together, where the oldest of them stood, and the first of them says how many they are.
fn together(items: Vec<Item>) -> Vec<Item> {
    let mut groups: Vec<Vec<Item>> = Vec::new();
    for item in items {
        match groups.iter_mut().find(|group| item.cause.is_some() && group[0].cause == item.cause) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    for group in &mut groups {
        group[0].heads = Some(group.len()).filter(|n| 1 < *n);
    }
    groups.into_iter().flatten().collect()
}

impl Item {
    /// Does it say how the agent is made to go on?
    fn is_advised_by_its_host(&self) -> bool {
        match self.what {
            What::Escalated | What::BlockedByHost | What::Unstarted | What::StuckWake => true,
            What::Abandoned | What::Quarantined | What::Undelivered | What::HeldBack => false,
        }
    }
}
