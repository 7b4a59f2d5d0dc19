//! The prices that a run is billed by: written into `run.json` when it is made, and read back by its report. A catalog that
//! has changed since, or that belongs to somebody else, says nothing of what was paid.

use std::collections::BTreeMap;
use std::path::Path;

use crate::catalog::{Card, Catalog};
use crate::config::Overrides;
use crate::requests::Input;
use crate::store::RunFile;

use super::failure::Failure;
use super::setup;

/// Cards by model.
pub(crate) type Cards = BTreeMap<String, Card>;

/// The prices of the models of an input, for `run.json`. Models that have none are left out.
pub(crate) fn record(input: &Input, catalog: &Catalog) -> Option<serde_json::Value> {
    serde_json::to_value(of_models(input.models().iter().map(|used| used.model.as_str()), catalog)).ok()
}

/// The prices that a run was billed by: those that it recorded, else, for a run of an earlier version, those of the
/// operator's catalog.
///
/// # Errors
/// They are not recorded, and the configuration or its catalog cannot be read.
pub(crate) fn of_run(run: &RunFile, config: Option<&Path>) -> Result<Cards, Failure> {
    if let Some(recorded) = run.prices.as_ref().and_then(recorded) {
        return Ok(recorded);
    }
    let settings = setup::settings(config, &Overrides::default())?;
    let catalog = setup::catalog(settings.catalog_file.as_deref())?;
    Ok(of_models(run.models.iter().map(String::as_str), &catalog))
}

/// `None` for prices that a later version wrote in a form of its own.
fn recorded(prices: &serde_json::Value) -> Option<Cards> {
    serde_json::from_value(prices.clone()).ok()
}

fn of_models<'m>(models: impl Iterator<Item = &'m str>, catalog: &Catalog) -> Cards {
    models.filter_map(|model| Some((model.to_owned(), catalog.card(model)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prices_of_a_run_are_those_that_it_recorded_and_not_those_of_today() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("in.jsonl");
        let line = |no: u32, model: &str| {
            format!(
                r#"{{"custom_id":"r-{no}","params":{{"model":"{model}","max_tokens":9,"messages":[{{"role":"user","content":"x"}}]}}}}"#
            )
        };
        std::fs::write(&path, [line(1, "claude-haiku-4-5"), line(2, "nobody-knows-it")].join("\n")).unwrap();
        let input = Input::index(&path, &mut |_| {}).unwrap();
        let dearer = "[[models]]\nid = \"claude-haiku-4-5\"\nfamily = \"haiku\"\n\
             price = { input = 3.0, output = 15.0, cache-write-5m = 3.75, cache-write-1h = 6.0, cache-read = 0.3 }\n\
             context-tokens = 200_000\nmax-output-tokens = 64_000\nmin-cacheable-tokens = 4096\n";
        let (today, then) = (Catalog::builtin(), Catalog::builtin().with_overrides(dearer).unwrap());
        let written = serde_json::to_string(&record(&input, &then)).unwrap();
        let cards = recorded(&serde_json::from_str(&written).unwrap()).unwrap();
        assert_eq!(cards.keys().collect::<Vec<_>>(), ["claude-haiku-4-5"]);
        assert_eq!(cards.get("claude-haiku-4-5").copied(), then.card("claude-haiku-4-5"));
        assert_ne!(then.card("claude-haiku-4-5"), today.card("claude-haiku-4-5"));
    }
}
