//! How an installation is, for people: a line for each check, and below those that are not well what to do.

use anyhow::Result;
use owo_colors::OwoColorize;

use crate::doctor::{CheckMark, CheckUp, Diagnosis};
use crate::rules::display::counted;

pub fn whole(diagnosis: &Diagnosis) -> String {
    let host = diagnosis.host.as_ref().map(|host| format!(" ({host})")).unwrap_or_default();
    let lines: String = diagnosis.checkups.iter().map(line).collect();
    format!("{}{host}\n\n{lines}\n{}.\n", "Doctor".bold(), sentence(diagnosis))
}

fn line(checkup: &CheckUp) -> String {
    let mark = match checkup.mark {
        CheckMark::Ok => checkup.mark.name().green().to_string(),
        CheckMark::Warning => checkup.mark.name().yellow().to_string(),
        CheckMark::Problem => checkup.mark.name().red().to_string(),
    };
    let pad = " ".repeat(WIDEST_MARK - checkup.mark.name().len());
    let advice = checkup.advice.as_ref().map(|advice| format!("{INDENT}→ {advice}\n")).unwrap_or_default();
    format!("  {mark}{pad}  {:<13}  {}\n{advice}", checkup.name.name(), checkup.found)
}

const WIDEST_MARK: usize = "problem".len();

/// Below what was found.
const INDENT: &str = "                          ";

/// One line about several installations.
pub fn of_all(all: &[(String, Result<Diagnosis>)]) -> String {
    let read = || all.iter().filter_map(|(_, diagnosis)| diagnosis.as_ref().ok());
    let count = |mark| read().map(|diagnosis| diagnosis.count(mark)).sum();
    let databases = super::databases(all.len(), all.len() - read().count());
    format!("{databases}. {}", together(count(CheckMark::Problem), count(CheckMark::Warning))).bold().to_string()
}

fn sentence(diagnosis: &Diagnosis) -> String {
    together(diagnosis.count(CheckMark::Problem), diagnosis.count(CheckMark::Warning))
}

fn together(problems: i64, warnings: i64) -> String {
    let (problems, warnings) = (counted(problems, "problem", "problems"), counted(warnings, "warning", "warnings"));
    match (problems.starts_with("0 "), warnings.starts_with("0 ")) {
        (true, true) => "All is well".to_owned(),
        (true, false) => warnings,
        (false, true) => problems,
        (false, false) => format!("{problems}, {warnings}"),
    }
}
