//! The shape of the project: its code, its documents, its tests.

mod architecture;
mod documents;
mod filters;
mod json_schemas;
mod map;
mod names;
mod promises;
mod times;
mod voice;
