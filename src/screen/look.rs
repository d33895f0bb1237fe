//! A screen as it stands at one moment.

/// The mode in which a terminal takes what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineMode {
    /// The terminal itself shows what is typed.
    pub echo: bool,
    /// The program is given whole lines; otherwise it reads each key and shows what it likes.
    pub canonical: bool,
}

impl LineMode {
    /// Whether the program asks for something that nobody may see, such as a password.
    pub fn hides(self) -> bool {
        self.canonical && !self.echo
    }
}

/// A screen as it stands at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    /// The lines that have scrolled off, oldest first, as before they were wrapped.
    pub above: Vec<String>,
    /// The rows from top to bottom, without trailing spaces.
    pub rows: Vec<String>,
    /// For each row, whether it is wrapped into the next one.
    pub wrapped: Vec<bool>,
    /// The row of the cursor, from 0; if the program hides the cursor, of the one that it draws itself.
    pub cursor_row: usize,
    /// The cursor's row, before the cursor.
    pub before_cursor: String,
    /// The cursor's row, from the cursor on.
    pub behind_cursor: String,
    /// The cursor's row from the cursor on, without dim text: a program shows hints so where nothing has been typed.
    pub solid_behind_cursor: String,
    pub title: String,
    /// Whether a full-screen program has switched to the alternate screen.
    pub is_alternate: bool,
    /// None if the terminal's mode cannot be read.
    pub mode: Option<LineMode>,
    /// Nothing was drawn within the last seconds.
    pub is_still: bool,
    /// The bell has rung since anything was drawn last.
    pub has_rung: bool,
    /// The program has used sequences that are not understood here, and its terminal may show something else.
    pub is_misread: bool,
}

/// A screen as another terminal has kept it, with its colours.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Capture {
    /// Rows and columns.
    pub size: (u16, u16),
    /// Row and column, from 0.
    pub cursor: (u16, u16),
    pub has_cursor: bool,
    pub is_alternate: bool,
    pub title: String,
    /// Up to `LINES_ABOVE` lines that have scrolled off, and the screen itself: lines as before they were wrapped.
    pub text: String,
}

impl Capture {
    /// How many lines are kept that have scrolled off.
    pub const LINES_ABOVE: usize = 41;
}

impl Look {
    /// Whether the rows from this one to the cursor's are one text, wrapped by the terminal or indented by the program.
    pub fn is_one_text(&self, first: usize) -> bool {
        let is_indented = |row: usize| self.rows.get(row).is_some_and(|text| text.starts_with("  "));
        let goes_on = |row: usize| self.wrapped.get(row) == Some(&true) || is_indented(row + 1);
        first <= self.cursor_row && (first..self.cursor_row).all(goes_on)
    }

    /// All lines that are not empty, oldest first, as before they were wrapped.
    pub fn lines(&self) -> Vec<String> {
        let rows = self.rows.iter().cloned().zip(self.wrapped.iter().copied());
        let lines = self.above.iter().cloned().chain(joined(rows));
        lines.filter(|line| !line.trim().is_empty()).collect()
    }
}

/// Joins rows to lines as before they were wrapped. With each row comes whether it is wrapped into the next one.
pub fn joined(rows: impl IntoIterator<Item = (String, bool)>) -> Vec<String> {
    let (mut lines, mut goes_on): (Vec<String>, bool) = (Vec::new(), false);
    for (row, wraps) in rows {
        match lines.last_mut().filter(|_| goes_on) {
            Some(line) => line.push_str(&row),
            None => lines.push(row),
        }
        goes_on = wraps;
    }
    lines
}
