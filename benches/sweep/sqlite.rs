//! Subjects per second on SQLite, over one connection.

use anyhow::{Context, Result, ensure};
use diesel::connection::SimpleConnection;
use diesel::dsl::count_star;
use diesel::prelude::*;
use sweep::store::Access;
use sweep::store::connect::open::Url;
use sweep::store::db::schema::recoveries;
use sweep::store::hosts::migrate::{Wanted, migrate};

use crate::figures::median;
use crate::fixtures::Company;
use crate::sweep_all;

const ORPHANS: u32 = 2000;
const ROUNDS: usize = 5;

pub fn run() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let (template, copy) = (directory.path().join("template.db"), directory.path().join("bench.db"));
    let company = Company::with_orphans(ORPHANS, 10);
    let url = Url::Sqlite(template.clone());
    url.create()?;
    migrate(&mut url.connect(Access::Write)?, &Wanted::default())?;
    let path = template.to_str().context("the temporary directory's name is no UTF-8")?;
    SqliteConnection::establish(path)?.batch_execute(&company.sqlite())?;

    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        std::fs::copy(&template, &copy)?;
        let took = sweep_all(&format!("sqlite://{}", copy.display()), 1)?;
        rates.push(f64::from(ORPHANS) / took.as_secs_f64());
        let mut db = SqliteConnection::establish(copy.to_str().unwrap_or_default())?;
        let done: i64 = recoveries::table.select(count_star()).first(&mut db)?;
        ensure!(done == i64::from(ORPHANS), "{done} orphans were continued, expected {ORPHANS}");
    }
    println!("\nThe same in SQLite: {:.0} subjects/s (median of {ROUNDS})", median(rates));
    Ok(())
}
