//! A migration to be read, and run by an operator's own hand.

use super::{MigrationPlan, OURS, Wanted, trust};
use crate::store::catalog::{VERSIONS, up, version};
use crate::store::{DbConnection, boards};

/// The SQL of a plan, for psql or sqlite3, with what diesel records of it.
pub fn print(db: &DbConnection, plan: &MigrationPlan, wanted: Wanted) -> String {
    let mut sql = match db.is_sqlite() {
        true => "begin;\n".to_owned(),
        // Whose schema it is is asked once it is there: whoever makes it in between is found out.
        false => format!(
            "begin; set local search_path = pg_catalog, pg_temp;\ncreate schema if not exists sweep;\n{}\
             set local search_path = {OURS};\n",
            trust::guard(plan.host, wanted)
        ),
    };
    sql += &format!(
        "create table if not exists {VERSIONS} (\n    version varchar(50) primary key not null,\n    \
         run_on timestamp not null default current_timestamp\n);\n"
    );
    for folder in &plan.missing {
        let file = up(folder, db.is_sqlite());
        sql += &format!("\n-- {folder}\n{file}insert into {VERSIONS} (version) values ('{}');\n", version(folder));
    }
    sql + &boards::preparation() + "commit;\n"
}
