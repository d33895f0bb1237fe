//! Roles that may only connect: their notifications do not hurry anything.
