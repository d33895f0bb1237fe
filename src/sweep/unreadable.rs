//! Why a subject could not be examined, in words that name what is wrong with its row.

use diesel::QueryResult;
use diesel::result::Error;

use super::context::ExamineContext;
use crate::rules::Id;
use crate::store::{Access, DbConnection, Subject, errors, nulls};

pub fn why<S: Subject>(db: &mut DbConnection, id: &Id, error: &Error, context: &ExamineContext) -> String {
    let name = |db: &mut _| -> QueryResult<_> { Ok(nulls::describe(db, S::KIND, id, error)) };
    let named = errors::is_undecodable(error).then(|| db.in_transaction(Access::ReadOnly, &context.timeouts, name));
    named.and_then(Result::ok).unwrap_or_else(|| errors::of_row(S::KIND, error))
}
