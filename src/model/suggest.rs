//! "Did you mean": the known word that is nearest to an unknown one.

/// Words for an unknown word: the nearest known one, or all of them.
pub fn hint(unknown: &str, known: &[&str]) -> String {
    let nearest = known.iter().map(|key| (distance(unknown, key), key)).min();
    match nearest {
        // Half of the letters may be wrong (two that are swapped count as two); beyond that the guess is noise.
        Some((distance, key)) if distance * 2 <= unknown.chars().count() => format!("did you mean {key}?"),
        _ => format!("the keys here are {}", known.join(", ")),
    }
}

/// Edits from one word to the other: insertions, deletions, replacements; `_` and case count for nothing.
fn distance(a: &str, b: &str) -> usize {
    let normal = |word: &str| -> Vec<char> { word.to_lowercase().replace('_', "-").chars().collect() };
    let (a, b) = (normal(a), normal(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, to) in row.iter_mut().skip(1).zip(&b) {
            let replaced = diagonal + usize::from(from != to);
            diagonal = *cell;
            left = replaced.min(diagonal + 1).min(left + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_is_the_number_of_edits() {
        for (a, b, n) in
            [("", "", 0), ("abc", "", 3), ("", "abc", 3), ("kitten", "sitting", 3), ("Backoff_Min", "backoff-min", 0)]
        {
            assert_eq!(distance(a, b), n, "{a} {b}");
        }
    }

    #[test]
    fn a_near_key_is_suggested_and_far_ones_are_listed() {
        assert_eq!(hint("procss", &["cap", "procs"]), "did you mean procs?");
        assert_eq!(hint("outage_limit", &["cap", "outage-limit"]), "did you mean outage-limit?");
        assert_eq!(hint("theme", &["cap", "procs"]), "the keys here are cap, procs");
    }
}
