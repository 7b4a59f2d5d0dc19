//! A line of text that the operator edits: a filter, a search, a value of a form.

/// The line, and whether keys go into it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextField {
    /// What is in it.
    pub text: String,
    /// Printable keys go into it.
    pub editing: bool,
}

impl TextField {
    /// Longest text, in characters: nobody filters by more, and a paste is not to fill the screen.
    const LONGEST: usize = 200;

    /// Adds a character; control characters are passed over.
    pub fn type_char(&mut self, c: char) {
        if !c.is_control() && self.text.chars().count() < TextField::LONGEST {
            self.text.push(c);
        }
    }

    /// Takes the last character away.
    pub fn erase(&mut self) {
        self.text.pop();
    }

    /// Empties it and leaves it.
    pub fn drop_text(&mut self) {
        self.text.clear();
        self.editing = false;
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether it leaves a text through: it is empty, or in the text, whatever the case.
    pub fn matches(&self, text: &str) -> bool {
        self.text.is_empty() || text.to_lowercase().contains(&self.text.to_lowercase())
    }
}
