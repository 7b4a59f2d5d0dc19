//! What tells the segments of a report apart: a tag, what a pattern finds in the id, or the model.

use std::collections::HashSet;
use std::sync::Arc;

use crate::model::RequestNo;
use crate::report::review::Segment;
use crate::requests::{Input, Tags, key_of};
use crate::store::{OutcomeLine, RunPeek};

use super::failure::Failure;
use super::launch::index;
use super::out;
use super::resume::input_path;

/// What segments are made by.
#[derive(Debug)]
enum By {
    /// A tag of the request's metadata.
    Tag(String),
    /// What a pattern finds in the id: its first group, else all that it matches.
    Id(regex::Regex),
    /// The model.
    Model,
}

impl By {
    fn parse(text: &str) -> Result<By, Failure> {
        let refused =
            |why: &str| Failure::usage(format!("--by {text}: {why}; write metadata.TAG, custom_id:PATTERN or model"));
        if text == "model" {
            return Ok(By::Model);
        }
        if let Some(tag) = text.strip_prefix("metadata.").filter(|tag| !tag.is_empty()) {
            return Ok(By::Tag(tag.to_owned()));
        }
        match text.strip_prefix("custom_id:") {
            Some("") => Err(refused("the pattern is empty, and would find nothing in every id")),
            Some(pattern) => regex::Regex::new(pattern).map(By::Id).map_err(|error| {
                // The last line of several says what is wrong; the others show where.
                let why = error.to_string();
                let why = why.lines().last().unwrap_or("the pattern cannot be read").trim();
                refused(why.trim_start_matches("error: ").trim_end_matches('.'))
            }),
            None => Err(refused("it is none of what can be told apart")),
        }
    }
}

/// What tells the segment of a line.
pub(crate) enum Segmenter {
    None,
    Tags(Tags, Source),
    Id(regex::Regex),
    Model(Source),
}

/// The segment of requests that the pattern does not fit, or that are not in the input any more.
const UNMATCHED: &str = "(unmatched)";

/// The input of a run, as it is now.
pub(crate) struct Source {
    input: Arc<Input>,
    /// It is not the file that the run was made for: positions in the journal say nothing any more, and ids do.
    has_changed: bool,
}

impl Source {
    fn open(peek: &RunPeek) -> Result<Source, Failure> {
        let input = index(&input_path(&peek.run, &peek.dir)).map_err(|failure| {
            Failure::usage(format!("{}; without the input, --by custom_id:PATTERN is possible", failure.message))
        })?;
        let has_changed = input.sha256() != peek.run.input.sha256;
        if has_changed {
            out::say(
                "fandeck report: the input has changed since the run was made; segments are those of the file as it is now",
            );
        }
        Ok(Source { input, has_changed })
    }

    /// The request of a line; `None` when the input has it no longer.
    fn request(&self, line: &OutcomeLine<'_>) -> Option<RequestNo> {
        match line.no {
            Some(no) if !self.has_changed => Some(no).filter(|no| no.0 < self.input.len()),
            _ => self.input.find(&line.custom_id).ok().flatten(),
        }
    }
}

impl Segmenter {
    /// Of what was asked for; an input is read for what is not in the journal.
    ///
    /// # Errors
    /// It is none of what there is, or the input cannot be read.
    pub(crate) fn new(by: Option<&str>, peek: &RunPeek) -> Result<Segmenter, Failure> {
        Ok(match by.map(By::parse).transpose()? {
            None => Segmenter::None,
            Some(By::Tag(tag)) => {
                let source = Source::open(peek)?;
                Segmenter::Tags(Tags::read(&source.input, &tag).map_err(Failure::usage)?, source)
            }
            Some(By::Id(pattern)) => Segmenter::Id(pattern),
            Some(By::Model) => Segmenter::Model(Source::open(peek)?),
        })
    }

    /// The key and the name of a line's segment. Names of tags come later: [`Segmenter::name`].
    pub(crate) fn of<'s>(&'s self, line: &'s OutcomeLine<'_>) -> Option<(u64, &'s str)> {
        let name = match self {
            Segmenter::None => return None,
            Segmenter::Tags(tags, source) => match source.request(line) {
                Some(no) => return Some((tags.of(no), Tags::NONE)),
                None => UNMATCHED,
            },
            Segmenter::Id(pattern) => {
                let found = pattern.captures(&line.custom_id);
                found.and_then(|found| found.get(1).or_else(|| found.get(0))).map_or(UNMATCHED, |part| part.as_str())
            }
            Segmenter::Model(source) => source.request(line).map_or(UNMATCHED, |no| source.input.model_of(no)),
        };
        Some((key_of(name), name))
    }

    /// Gives the segments their names, as far as they have none.
    ///
    /// # Errors
    /// The input cannot be read as it was indexed.
    pub(crate) fn name(&self, segments: &mut [Segment]) -> Result<(), Failure> {
        let Segmenter::Tags(tags, Source { input, .. }) = self else { return Ok(()) };
        let wanted: HashSet<u64> = segments.iter().filter_map(|segment| segment.key).collect();
        let texts = tags.texts(input, &wanted).map_err(Failure::usage)?;
        for segment in segments {
            // Those that are not in the input have their name already, and are in no text.
            if let Some(text) = segment.key.and_then(|key| texts.get(&key)) {
                segment.name.clone_from(text);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_segments_are_made_by_is_read_or_refused_with_what_there_is() {
        assert!(matches!(By::parse("model"), Ok(By::Model)));
        assert!(matches!(By::parse("metadata.user_id"), Ok(By::Tag(tag)) if tag == "user_id"));
        assert!(matches!(By::parse("custom_id:^([a-z]+)-"), Ok(By::Id(_))));
        for text in ["", "metadata.", "org", "custom_id:(", "custom_id:"] {
            let failure = By::parse(text).err().unwrap();
            assert_eq!(failure.exit_code, 2);
            assert!(failure.message.contains("custom_id:PATTERN"), "{}", failure.message);
        }
        let failure = By::parse("custom_id:(").err().unwrap();
        assert!(failure.message.starts_with("--by custom_id:(: unclosed group; write "), "{}", failure.message);
    }
}
