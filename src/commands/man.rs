//! `sweep man`: the manual pages, one for each command.

use std::path::Path;

use anyhow::Result;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::terminal::say;
use crate::cli::{self, ManFlags, ManualSection, examples_of, manual_sections, page_of};
use crate::conclusion::{Conclusion, some_failed};
use crate::files;

pub fn run(flags: &ManFlags) -> Result<Conclusion> {
    let mut command = cli::command().disable_help_subcommand(true);
    command.build();
    match &flags.directory {
        None => say(&String::from_utf8_lossy(&rendered(&command, &[])?)),
        Some(directory) => {
            let refuse = |why: String| some_failed(format!("cannot write to {}: {why}", directory.display()));
            std::fs::create_dir_all(directory).map_err(|error| refuse(files::error_text(&error)))?;
            write_all(&command, &[], directory).map_err(|error| refuse(format!("{error:#}")))?;
        }
    }
    Ok(Conclusion::Done)
}

fn write_all(command: &Command, path: &[&str], directory: &Path) -> Result<()> {
    std::fs::write(directory.join(format!("{}.1", name_of(path))), rendered(command, path)?)?;
    for below in command.get_subcommands() {
        write_all(below, &[path, &[below.get_name()]].concat(), directory)?;
    }
    Ok(())
}

/// `sweep-exempt-add`
fn name_of(path: &[&str]) -> String {
    [&["sweep"], path].concat().join("-")
}

fn rendered(command: &Command, path: &[&str]) -> Result<Vec<u8>> {
    let name = name_of(path);
    // What `-h` has no room for is left out of a page as well, unless it is said otherwise.
    let plain = command.clone().after_help(None).after_long_help(None).mut_args(|it| it.hide_short_help(false));
    let man = Man::new(plain).title(name).manual("sweep").source(format!("sweep {}", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    own_sections(command, path).to_writer(&mut page)?;
    Ok(page)
}

fn own_sections(command: &Command, path: &[&str]) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXAMPLES"]);
    for (what, line) in examples_of(path) {
        roff.control("TP", []).text([roman(format!("{what}:"))]).text([bold(line.as_str())]);
    }
    if let Some(page) = page_of(path).filter(|page| !page.notes.is_empty()) {
        roff.control("SH", ["NOTES"]);
        for notes in page.notes.split("\n\n") {
            roff.control("PP", []).text([roman(notes)]);
        }
    }
    for ManualSection { title, entries } in manual_sections() {
        roff.control("SH", [title.as_str()]);
        for (name, what) in entries {
            roff.control("TP", []).text([bold(name)]).text([roman(what)]);
        }
    }
    roff.control("SH", ["SEE ALSO"]);
    // The page above it and those below it; of the main page all commands.
    let above = path.split_last().map(|(_, above)| name_of(above));
    let below = command.get_subcommands().map(|below| name_of(&[path, &[below.get_name()]].concat()));
    let listed = above.into_iter().chain(below).enumerate().flat_map(|(n, name)| {
        let comma = if n == 0 { "" } else { ", " };
        [roman(comma), bold(name), roman("(1)")]
    });
    roff.text(listed.collect::<Vec<_>>());
    roff
}
