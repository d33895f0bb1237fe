//! What a sweep examines its subjects with.

use super::limits::WakeBudget;
use super::plan::Plan;
use crate::rules::request::Asked;
use crate::rules::{Id, Policy, Verdict};
use crate::store::hosts::links::Links;
use crate::store::work::candidates::{Part, Portion, Shard};
use crate::store::work::outbox::Subscriptions;
use crate::store::{Access, Durable, Timeouts};

/// What the subjects of one kind are examined with.
#[derive(Clone, Copy, Debug)]
pub struct ExamineContext<'a> {
    pub sweep_id: &'a Id,
    pub access: Access,
    pub policy: &'a Policy,
    pub timeouts: Timeouts,
    pub durable: Durable,
    pub tenant: Option<&'a str>,
    /// Only the candidates of this group.
    pub group: Option<&'a Id>,
    /// None of these, which the guard holds back.
    pub held: &'a [Portion],
    pub shard: Option<Shard>,
    /// Only the candidates among these.
    pub only_ids: Option<&'a [Id]>,
    /// What a person asks to be done, in place of what a sweep would do.
    pub asked: Option<&'a Asked>,
    /// Touch only what it says, if a fresh decision is the same.
    pub plan: Option<&'a Plan>,
    pub wakes: &'a WakeBudget,
    /// Who is to be notified, and of what.
    pub subscriptions: &'a Subscriptions,
    /// Into the host's own pages.
    pub links: &'a Links,
    /// A kind in shadow is only looked at, in a sweep that writes otherwise.
    pub shadow: bool,
}

impl<'a> ExamineContext<'a> {
    /// One subject alone, with everything written.
    pub fn of_one(
        sweep_id: &'a Id,
        policy: &'a Policy,
        timeouts: Timeouts,
        wakes: &'a WakeBudget,
        subscriptions: &'a Subscriptions,
        links: &'a Links,
    ) -> ExamineContext<'a> {
        ExamineContext {
            sweep_id,
            access: Access::Write,
            policy,
            timeouts,
            durable: Durable::Each,
            tenant: None,
            group: None,
            held: &[],
            shard: None,
            only_ids: None,
            asked: None,
            plan: None,
            wakes,
            subscriptions,
            links,
            shadow: false,
        }
    }
}

impl ExamineContext<'_> {
    /// Why what was decided is done, or left.
    pub fn reason(&self, verdict: &Verdict) -> String {
        self.asked.map_or_else(|| verdict.decision.to_string(), Asked::to_string)
    }

    /// The candidates that they are about.
    pub fn part(&self) -> Part<'_> {
        let ExamineContext { tenant, group, only_ids, held, .. } = *self;
        Part { after: None, tenant, group, only_ids, except: held }
    }
}
