//! The code blocks of a page, and which of them can be followed.
//!
//! ```` ```console ```` that begins with `$ sweep` has commands and what they print, ```` ```sh ```` only commands, and
//! ```` ```sql ```` statements for the database. A mark behind the word says more: `elsewhere` takes a block out (it
//! needs another machine, server or terminal than the reader's), `endless` does not end by itself and is ended after
//! the lines that it shows, and `receivers` needs servers that are notified.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use super::Page;

#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The word behind the fence: `console`, `sql`, …
    pub language: String,
    pub mark: Option<String>,
    pub text: String,
    /// The range of the text in the page.
    pub place: Range<usize>,
}

pub const MARKS: [&str; 3] = ["elsewhere", "endless", "receivers"];

impl Page {
    pub fn blocks(&self) -> Vec<Block> {
        let mut found: Vec<Block> = Vec::new();
        let mut is_inside = false;
        for (event, place) in Parser::new(&self.text).into_offset_iter() {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                    let (language, mark) = match info.split_once(' ') {
                        Some((language, mark)) => (language.to_owned(), Some(mark.to_owned())),
                        None => (info.to_string(), None),
                    };
                    // An empty block has no text of its own.
                    let place = place.end..place.end;
                    found.push(Block { language, mark, text: String::new(), place });
                    is_inside = true;
                }
                Event::Text(text) if is_inside => {
                    let block = found.last_mut().expect("a block has begun");
                    let begins_at = if block.text.is_empty() { place.start } else { block.place.start };
                    block.place = begins_at..place.end;
                    block.text += &text;
                }
                Event::End(_) => is_inside = false,
                _ => {}
            }
        }
        found
    }
}

impl Block {
    /// True if the block has commands of sweep, or other commands or SQL that a reader runs.
    pub fn is_an_example(&self) -> bool {
        match self.language.as_str() {
            "console" => self.text.starts_with("$ sweep"),
            "sh" | "sql" => true,
            _ => false,
        }
    }

    pub fn is_followed(&self) -> bool {
        self.is_an_example() && (self.mark.is_none() || self.is_endless())
    }

    pub fn is_endless(&self) -> bool {
        self.mark.as_deref() == Some("endless")
    }

    /// A block that stands in no page.
    pub fn new(language: &str, text: &str) -> Block {
        Block { language: language.to_owned(), mark: None, text: format!("{text}\n"), place: 0..0 }
    }

    /// The number of lines that a console shows below its commands.
    pub fn shown_lines(&self) -> usize {
        self.commands().iter().map(|(_, shown)| shown.lines().count()).sum()
    }

    pub fn shows_nothing(&self) -> bool {
        self.language != "console" || self.shown_lines() == 0
    }

    /// The commands of a console, each with what is shown below it.
    pub fn commands(&self) -> Vec<(String, String)> {
        let mut commands: Vec<(String, String)> = Vec::new();
        for line in self.text.lines() {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push((command.to_owned(), String::new())),
                (None, Some((command, shown))) if command.ends_with('\\') && shown.is_empty() => {
                    *command += &format!("\n{line}");
                }
                (None, Some((_, shown))) => *shown += &format!("{line}\n"),
                (None, None) => panic!("no command before: {line}"),
            }
        }
        commands
    }
}
