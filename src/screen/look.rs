//! A screen as it stands at one moment.

/// How a terminal takes what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineMode {
    /// What is typed is shown by the terminal itself.
    pub echo: bool,
    /// The program is given whole lines; else it reads each key, and shows what it likes.
    pub canonical: bool,
}

impl LineMode {
    /// A program asks for something that nobody may see.
    pub fn hides(self) -> bool {
        self.canonical && !self.echo
    }
}

/// A screen as it stands at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    /// What has scrolled off it, oldest first: lines as they were before they were wrapped.
    pub above: Vec<String>,
    /// From top to bottom, without spaces at their ends.
    pub rows: Vec<String>,
    /// Does this row go on in the next one?
    pub wrapped: Vec<bool>,
    /// Where the cursor is, or, if the program hides it, the one that it draws in its place: the row, from 0.
    pub cursor_row: usize,
    /// That row before the cursor, and from it on.
    pub before_cursor: String,
    pub behind_cursor: String,
    /// The same without what is dim, as hints are that a program shows where nothing has been typed.
    pub solid_behind_cursor: String,
    pub title: String,
    /// A full-screen program's, which is gone when that ends.
    pub is_alternate: bool,
    /// Null where that cannot be seen.
    pub mode: Option<LineMode>,
    /// Has anything been drawn within the last seconds?
    pub is_still: bool,
    /// The bell has rung since anything was drawn last.
    pub has_rung: bool,
}

impl Look {
    /// Do the rows from this one to the cursor's look like one text, wrapped by the terminal or indented by the program?
    pub fn is_one_text(&self, first: usize) -> bool {
        let is_indented = |row: usize| self.rows.get(row).is_some_and(|text| text.starts_with("  "));
        let goes_on = |row: usize| self.wrapped.get(row) == Some(&true) || is_indented(row + 1);
        first <= self.cursor_row && (first..self.cursor_row).all(goes_on)
    }

    /// All lines that are not empty, oldest first, as they were before they were wrapped.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.above.clone();
        let mut goes_on = false;
        for (row, wraps) in self.rows.iter().zip(&self.wrapped) {
            match lines.last_mut().filter(|_| goes_on) {
                Some(line) => line.push_str(row),
                None => lines.push(row.clone()),
            }
            goes_on = *wraps;
        }
        lines.retain(|line| !line.trim().is_empty());
        lines
    }
}
