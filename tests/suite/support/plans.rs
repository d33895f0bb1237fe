//! What a query of PostgreSQL's has read, as its plan says: no clock measures this.

use diesel::sql_types::Text;
use diesel::{QueryableByName, RunQueryDsl};
use serde_json::Value;

use crate::support::world::World;

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text, column_name = "QUERY PLAN")]
    text: String,
}

/// How many rows the nodes of a query's plan have read.
pub fn rows_looked_at(world: &mut World, query: &str) -> f64 {
    fn sum(plan: &Value) -> f64 {
        let number = |name: &str| plan[name].as_f64().unwrap_or_default();
        let removed = number("Rows Removed by Filter") + number("Rows Removed by Join Filter");
        let below = plan["Plans"].as_array().map_or(0.0, |plans| plans.iter().map(sum).sum());
        below + (number("Actual Rows") + removed) * number("Actual Loops")
    }
    let explain = format!("explain (analyze, timing off, costs off, format json) {query}");
    let lines: Vec<Line> = diesel::sql_query(explain).load(&mut world.db).expect("a plan");
    let text: String = lines.into_iter().map(|line| line.text).collect();
    sum(&serde_json::from_str::<Value>(&text).expect("JSON")[0]["Plan"])
}
