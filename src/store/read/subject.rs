//! What a row is about, and since when: every list says it with these fields.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};
use schemars::JsonSchema;
use serde::Serialize;

use crate::rules::{Id, Kind};
use crate::store::db::types::{LossyText, RawInstant, age_seconds, sql};
use crate::store::hosts::links::{LinkTarget, Links};

/// The subject that a row is about, as far as the row knows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SubjectRef {
    /// What it is; null: the row is about no subject.
    pub kind: Option<Kind>,
    /// The subject's id; null: the row is about no subject, or about all of the kind.
    pub id: Option<Id>,
    /// The tenant; null: not known, or not one tenant's alone.
    pub tenant: Option<String>,
    /// What people call it; null: it has no such name.
    pub identifier: Option<String>,
    /// Its page in the host's own board, as its `[links]` and `SWEEP_HOST_URL` have it; null: none is known.
    pub url: Option<String>,
    /// Its title; null: it has none, or it is not known.
    pub title: Option<String>,
    /// Its agent's id; null: it has none, or it is not known.
    pub agent_id: Option<Id>,
    /// Its agent's name; null as `agent_id`.
    pub agent: Option<String>,
}

impl SubjectRef {
    /// Adds the link to the subject's page in the host's own board.
    pub fn linked(self, links: &Links) -> SubjectRef {
        let url = self.page().and_then(|page| links.to(&page));
        SubjectRef { url, ..self }
    }

    /// What a link to the subject's page is made of; none where the row is about no single subject.
    pub fn page(&self) -> Option<LinkTarget<'_>> {
        Some(LinkTarget {
            kind: self.kind?,
            id: self.id.as_ref()?,
            identifier: self.identifier.as_deref(),
            tenant: self.tenant.as_deref(),
            agent: self.agent_id.as_ref(),
        })
    }

    /// What people call the subject, else its id.
    pub fn name(&self) -> Option<&str> {
        self.identifier.as_deref().or(self.id.as_ref().map(|id| id.0.as_str()))
    }
}

/// The columns of a view that say what a row is about, whatever they hold.
#[derive(Clone, Debug, Queryable, QueryableByName)]
pub struct SubjectRow {
    #[diesel(sql_type = Nullable<sql::HostId>)]
    pub subject_id: Option<Id>,
    #[diesel(sql_type = Nullable<Text>)]
    pub tenant: Option<LossyText>,
    #[diesel(sql_type = Nullable<Text>)]
    pub identifier: Option<LossyText>,
    #[diesel(sql_type = Nullable<Text>)]
    pub title: Option<LossyText>,
    #[diesel(sql_type = Nullable<sql::HostId>)]
    pub agent_id: Option<Id>,
    #[diesel(sql_type = Nullable<Text>)]
    pub agent_name: Option<LossyText>,
}

/// The columns of a `SubjectRow`, in its order.
macro_rules! subject_columns {
    ($view:ident) => {
        (
            $view::subject_id.nullable(),
            $view::tenant.nullable(),
            $view::identifier.nullable(),
            $view::title.nullable(),
            $view::agent_id.nullable(),
            $view::agent_name.nullable(),
        )
    };
}
pub(super) use subject_columns;

impl SubjectRow {
    pub fn into_linked(self, kind: Option<Kind>, links: &Links) -> SubjectRef {
        let subject = SubjectRef {
            kind,
            id: self.subject_id,
            tenant: self.tenant.map(String::from),
            identifier: self.identifier.map(String::from),
            url: None,
            title: self.title.map(String::from),
            agent_id: self.agent_id,
            agent: self.agent_name.map(String::from),
        };
        subject.linked(links)
    }
}

/// Since when something has been as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Age {
    /// Since when; null: its row holds no valid time.
    pub since: Option<DateTime<Utc>>,
    /// For how long, in seconds; null as `since`.
    #[serde(rename = "age_seconds")]
    pub seconds: Option<i64>,
}

impl Age {
    pub fn at(since: Option<&RawInstant>, now: DateTime<Utc>) -> Age {
        let since = since.and_then(RawInstant::instant);
        Age { since, seconds: since.map(|since| age_seconds(since, now)) }
    }
}
