//! What an operator wants of a migration.

use std::sync::Arc;

use crate::store::hosts::folders::Host;

/// Should a host that brings no such trigger itself notify at once of runs that end?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listen {
    #[default]
    AsItIs,
    Wanted,
}

/// What the operator says.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// None: as it is detected.
    pub host: Option<Arc<Host>>,
    pub listen: Listen,
    pub superuser: Superuser,
}

/// May a superuser migrate who does not own the host's tables?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Superuser {
    #[default]
    Refused,
    /// The operator says so.
    Accepted,
}
