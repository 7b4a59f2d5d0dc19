//! From the position of a request to the line of the file: they differ by the blank lines before it.

/// Line numbers of requests, kept as the places where the difference changes.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    /// (first request, line number − position), ascending.
    shifts: Vec<(u32, u64)>,
}

impl Numbering {
    /// Notes that request `no`, the next one, stands on this line (1-based).
    pub(super) fn note(&mut self, no: u32, line: u64) {
        let shift = line - u64::from(no);
        if self.shifts.last().is_none_or(|&(_, last)| last != shift) {
            self.shifts.push((no, shift));
        }
    }

    /// The line of a request, 1-based.
    pub(super) fn line_of(&self, no: u32) -> u64 {
        let at = self.shifts.partition_point(|&(first, _)| first <= no);
        let shift = at.checked_sub(1).and_then(|at| self.shifts.get(at)).map_or(1, |&(_, shift)| shift);
        u64::from(no) + shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_shift_the_requests_after_them() {
        let mut numbering = Numbering::default();
        for (no, line) in [(0, 2), (1, 3), (2, 7), (3, 8)] {
            numbering.note(no, line);
        }
        assert_eq!([0, 1, 2, 3].map(|no| numbering.line_of(no)), [2, 3, 7, 8]);
        assert_eq!(numbering.shifts.len(), 2);
    }
}
