//! The words of a filter, made ready for a walk over a million requests.

use memchr::memmem::Finder;

use super::index::{Entry, Index};
use crate::model::browse::Class;

/// All words; each has to match.
pub(super) struct Words(Vec<Word>);

/// What one word matches.
struct Word {
    classes: [bool; Class::ALL.len()],
    orgs: Vec<bool>,
    errors: Vec<bool>,
    id: Option<Finder<'static>>,
}

impl Words {
    /// Reads a filter. What is shared by many requests is looked at once, here.
    pub(super) fn new(text: &str, index: &Index) -> Words {
        Words(text.split_whitespace().map(|word| Word::new(word, index)).collect())
    }

    /// Whether every word matches.
    pub(super) fn match_all(&self, entry: &Entry, index: &Index) -> bool {
        self.0.iter().all(|word| word.matches(entry, index))
    }
}

impl Word {
    fn new(word: &str, index: &Index) -> Word {
        let field = |name: &str| word.strip_prefix(name).and_then(|rest| rest.strip_prefix(':'));
        let (class, org, error, id) = match (field("class"), field("org"), field("error"), field("id")) {
            (Some(text), ..) => (Some(text), None, None, None),
            (_, Some(text), ..) => (None, Some(text), None, None),
            (_, _, Some(text), _) => (None, None, Some(text), None),
            (.., Some(text)) => (None, None, None, Some(text)),
            _ => (Some(word), Some(word), Some(word), Some(word)),
        };
        let holds = |name: &str, wanted: Option<&str>| {
            wanted.is_some_and(|wanted| !name.is_empty() && name.to_lowercase().contains(&wanted.to_lowercase()))
        };
        Word {
            classes: Class::ALL.map(|known| holds(known.as_str(), class)),
            orgs: index.orgs().iter().map(|name| holds(name, org)).collect(),
            errors: index.errors().iter().map(|name| holds(name, error)).collect(),
            id: id.map(|text| Finder::new(text.as_bytes()).into_owned()),
        }
    }

    fn matches(&self, entry: &Entry, index: &Index) -> bool {
        self.classes[entry.class() as usize]
            || self.orgs.get(entry.org()) == Some(&true)
            || self.errors.get(entry.error()) == Some(&true)
            || self.id.as_ref().is_some_and(|finder| finder.find(index.id(entry)).is_some())
    }
}
