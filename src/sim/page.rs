//! Pages of a list: `limit`, `after_id` and `before_id`.

use super::failure::Failure;

/// Which page is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Page<'q> {
    limit: usize,
    after: Option<&'q str>,
    before: Option<&'q str>,
}

/// A range of the list, and whether there is more in the direction of the paging.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) range: std::ops::Range<usize>,
    pub(super) has_more: bool,
}

impl<'q> Page<'q> {
    /// The page of a query.
    ///
    /// # Errors
    /// A limit that is not between 1 and 1,000.
    pub(super) fn of(query: &'q str) -> Result<Page<'q>, Failure> {
        let mut page = Page { limit: 20, after: None, before: None };
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            match name {
                "limit" => {
                    page.limit = value
                        .parse()
                        .ok()
                        .filter(|limit| (1..=1_000).contains(limit))
                        .ok_or_else(|| Failure::invalid("limit: Input should be between 1 and 1000"))?;
                }
                "after_id" => page.after = Some(value),
                "before_id" => page.before = Some(value),
                _ => {}
            }
        }
        Ok(page)
    }

    /// The page of a list of `len` items, where `place` finds an item by its id.
    ///
    /// # Errors
    /// A cursor that is not in the list.
    pub(super) fn slice(&self, len: usize, place: impl Fn(&str) -> Option<usize>) -> Result<Slice, Failure> {
        let find = |key: &str, id: &str| {
            place(id).ok_or_else(|| Failure::invalid(format!("{key}: \"{id}\" is not the id of an item of this list")))
        };
        if let Some(before) = self.before {
            let end = find("before_id", before)?;
            let start = end.saturating_sub(self.limit);
            return Ok(Slice { range: start..end, has_more: start > 0 });
        }
        let start = self.after.map_or(Ok(0), |after| find("after_id", after).map(|at| at + 1))?;
        let end = start.saturating_add(self.limit).min(len);
        Ok(Slice { range: start..end, has_more: end < len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(query: &str) -> Option<(std::ops::Range<usize>, bool)> {
        let place = |id: &str| id.parse().ok().filter(|at| *at < 10);
        let slice = Page::of(query).ok()?.slice(10, place).ok()?;
        Some((slice.range, slice.has_more))
    }

    #[test]
    fn pages_go_in_both_directions_and_say_whether_there_is_more() {
        for (query, range, has_more) in [
            ("", 0..10, false),
            ("limit=3", 0..3, true),
            ("limit=3&after_id=2", 3..6, true),
            ("limit=3&after_id=6", 7..10, false),
            ("limit=3&after_id=9", 10..10, false),
            ("limit=3&before_id=5", 2..5, true),
            ("limit=3&before_id=3", 0..3, false),
            ("limit=3&before_id=0", 0..0, false),
        ] {
            assert_eq!(slice(query), Some((range, has_more)), "{query}");
        }
        for query in ["limit=0", "limit=1001", "limit=x", "after_id=77", "before_id=x"] {
            assert_eq!(slice(query), None, "{query}");
        }
    }
}
