//! The page that a report goes to: how wide it is, whether it knows links, and prose that is wrapped at its words to
//! fit.
//!
//! Only a terminal has a width, and links. What goes to a file or a pipe has neither: programs and diffs read lines.

use std::os::fd::AsFd;

use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// A page that is narrower, or says so, wraps by itself.
const COLUMNS_MIN: u16 = 20;

/// Shorter words are no lists.
const LIST_MIN: usize = 20;

/// What a table is drawn on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Page {
    /// None: it is no terminal, or does not say.
    pub columns: Option<usize>,
    pub knows_links: bool,
}

impl Page {
    pub fn of(page: impl AsFd) -> Page {
        let columns = columns(page);
        Page { columns, knows_links: columns.is_some() && supports_hyperlinks::supports_hyperlinks() }
    }

    /// Text that leads to a URL (OSC 8). Neither has a character in it that ends the sequence.
    pub fn link(self, text: &str, url: Option<&str>) -> String {
        match url {
            Some(url) if self.knows_links && !text.is_empty() => {
                format!("\u{1b}]8;;{url}\u{1b}\\{text}\u{1b}]8;;\u{1b}\\")
            }
            _ => text.to_owned(),
        }
    }
}

/// None: it is no terminal, or does not say.
pub fn columns(of: impl AsFd) -> Option<usize> {
    let of = of.as_fd();
    let size = rustix::termios::tcgetwinsize(of).ok().filter(|_| rustix::termios::isatty(of))?;
    (COLUMNS_MIN <= size.ws_col).then_some(size.ws_col.into())
}

/// Text for stdout: each of its lines wrapped at words, those that follow it indented as it is.
pub fn wrapped(text: &str) -> String {
    wrapped_within(columns(std::io::stdout()), text)
}

/// Text for a page of this width, wrapped as `wrapped` does.
pub fn wrapped_within(columns: Option<usize>, text: &str) -> String {
    let Some(columns) = columns else { return text.to_owned() };
    text.split_inclusive('\n').map(|line| wrapped_line(columns, line)).collect()
}

fn wrapped_line(columns: usize, line: &str) -> String {
    let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
    let indent = &text[..text.len() - text.trim_start_matches(' ').len()];
    lines(&text[indent.len()..], columns.saturating_sub(indent.len()).max(1))
        .iter()
        .map(|line| format!("{indent}{line}").trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
        + end
}

/// Lines of at most so many columns, without the spaces between them. A word that is longer than a line is broken.
pub fn lines(text: &str, columns: usize) -> Vec<String> {
    let options = Options::new(columns)
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(text, options).into_iter().map(|line| line.into_owned()).collect()
}

/// Separated by spaces; a long list without any may be parted behind its commas.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    Box::new(WordSeparator::AsciiSpace.find_words(line).flat_map(parted))
}

fn parted(word: Word<'_>) -> Vec<Word<'_>> {
    if word.word.len() <= LIST_MIN || !word.word.contains(',') {
        return vec![word];
    }
    let mut parts: Vec<Word> = word.word.split_inclusive(',').map(Word::from).collect();
    if let Some(last) = parts.last_mut() {
        last.whitespace = word.whitespace;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::wrapped_within;

    #[test]
    fn prose_is_wrapped_at_words_and_keeps_its_indentation() {
        let text = "one two three\n  four five six seven\n\nand-a-word-that-is-longer\n";
        let wrapped = wrapped_within(Some(11), text);
        assert_eq!(wrapped, "one two\nthree\n  four five\n  six seven\n\nand-a-word-\nthat-is-lon\nger\n");
        assert_eq!(wrapped_within(None, text), text);
    }

    #[test]
    fn colours_take_no_columns() {
        let text = "\u{1b}[32mtwelve\u{1b}[0m and twelve";
        assert_eq!(wrapped_within(Some(17), text), text);
    }
}
