//! What a command shows of one database, or of several: each under its name, or why it cannot be shown.

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};

use super::terminal::{Layout, say};
use crate::conclusion::{Conclusion, conclusion_of};
use crate::cycle::logged;
use crate::report::{ended, failure, heading, page};
use crate::store::connect::databases::{Databases, Found};
use crate::text::shown_in;

/// How something is shown that was read of each database.
pub struct Shown<T> {
    pub layout: Layout,
    /// One database, for people.
    pub table: fn(&T) -> String,
    /// One line about all of them together.
    pub of_all: fn(&[Read<T>]) -> String,
}

/// A database's name, and what was read of it.
pub type Read<T> = (String, Result<T>);

impl<T: Serialize> Shown<T> {
    pub fn print(&self, databases: &Databases, read: impl Fn(&Found) -> Result<T>) -> Result<Conclusion> {
        match (databases.only(), databases.find().as_slice()) {
            (Some(_), [only]) => print(self.layout, &read(only)?, self.table),
            (_, several) => return Ok(self.print_each(several, read)),
        }
        Ok(Conclusion::Done)
    }

    fn print_each(&self, databases: &[Found], read: impl Fn(&Found) -> Result<T>) -> Conclusion {
        let read_of = |found: &Found| (found.name.clone().unwrap_or_default(), logged(found, read(found)));
        let all: Vec<Read<T>> = databases.iter().map(read_of).collect();
        let conclusion = |read: &Result<T>| read.as_ref().map_or_else(conclusion_of, |_| Conclusion::Done);
        match self.layout {
            Layout::Table => {
                for (place, (name, read)) in all.iter().enumerate() {
                    say(&heading(place == 0, name));
                    say(&read.as_ref().map_or_else(failure, |read| page::wrapped(&(self.table)(read))));
                }
                say(&format!("\n{}\n", (self.of_all)(&all)));
            }
            Layout::Json => {
                let one = |(name, read): &Read<T>| {
                    let ended = ended(read.as_ref().err(), conclusion(read));
                    json!(OneOfSeveral { database_name: name, shown: read.as_ref().ok(), ended })
                };
                let databases: Vec<Value> = all.iter().map(one).collect();
                say(&format!("{:#}\n", shown_in(json!({ "schema": 1, "databases": databases }))));
            }
        }
        Conclusion::gravest(all.iter().map(|(_, read)| conclusion(read)))
    }
}

/// One of several databases, for programs: what one alone prints, and how it ended.
#[derive(Serialize)]
struct OneOfSeveral<'a, T> {
    database_name: &'a str,
    #[serde(flatten)]
    shown: Option<&'a T>,
    #[serde(flatten)]
    ended: Value,
}

/// One document.
pub fn print<T: Serialize>(layout: Layout, document: &T, table: impl FnOnce(&T) -> String) {
    say(&match layout {
        Layout::Table => page::wrapped(&table(document)),
        Layout::Json => format!("{:#}\n", shown_in(json!(document))),
    });
}
