//! `GET /v1/models` and `GET /v1/models/{id}`: the models as the API describes them, in its field order.

use http::StatusCode;
use serde::Serialize;

use super::failure::Failure;
use super::models::{self, Generation, Model};
use super::page;

/// A page of models.
#[derive(Debug, Serialize)]
struct Page {
    data: Vec<View>,
    has_more: bool,
    first_id: Option<&'static str>,
    last_id: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct View {
    id: &'static str,
    r#type: &'static str,
    display_name: &'static str,
    created_at: String,
    deprecated_at: Option<String>,
    retires_at: Option<String>,
    lifecycle: &'static str,
    line: &'static str,
    max_input_tokens: u64,
    max_tokens: u64,
    capabilities: Capabilities,
}

#[derive(Debug, Serialize)]
struct Capabilities {
    batch: Support,
    citations: Support,
    code_execution: Support,
    context_management: ContextManagement,
    effort: Effort,
    image_input: Support,
    pdf_input: Support,
    server_tools: ServerTools,
    structured_outputs: Support,
    thinking: Thinking,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Support {
    supported: bool,
}

#[derive(Debug, Serialize)]
struct ContextManagement {
    supported: bool,
    clear_thinking_20251015: Support,
    clear_tool_uses_20250919: Support,
    compact_20260112: Support,
}

#[derive(Debug, Serialize)]
struct Effort {
    supported: bool,
    low: Support,
    medium: Support,
    high: Support,
    xhigh: Support,
    max: Support,
}

#[derive(Debug, Serialize)]
struct ServerTools {
    supported: bool,
    code_execution: Support,
    web_search: Support,
}

#[derive(Debug, Serialize)]
struct Thinking {
    supported: bool,
    types: ThinkingTypes,
}

#[derive(Debug, Serialize)]
struct ThinkingTypes {
    adaptive: Support,
    between_tools: Support,
    disabled: Support,
    enabled: Support,
}

const fn support(supported: bool) -> Support {
    Support { supported }
}

/// The body of the answer to a list with this query.
///
/// # Errors
/// A limit out of range, a cursor that is no model.
pub(super) fn list(query: &str) -> Result<String, Failure> {
    json(&page(models::all(), query)?)
}

/// The body of the answer about one model.
///
/// # Errors
/// There is no such model.
pub(super) fn one(id: &str) -> Result<String, Failure> {
    json(&view(models::find(id).ok_or_else(|| Failure::not_found(format!("model: {id}")))?))
}

fn json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|_| Failure::server_error(StatusCode::INTERNAL_SERVER_ERROR))
}

fn page(models: &[Model], query: &str) -> Result<Page, Failure> {
    let slice = page::Page::of(query)?.slice(models.len(), |id| models.iter().position(|model| model.id == id))?;
    let (shown, has_more) = (models.get(slice.range).unwrap_or_default(), slice.has_more);
    Ok(Page {
        data: shown.iter().map(view).collect(),
        has_more,
        first_id: shown.first().map(|model| model.id),
        last_id: shown.last().map(|model| model.id),
    })
}

fn view(model: &Model) -> View {
    let [adaptive, between_tools, disabled, enabled] = model.thinking().map(support);
    View {
        id: model.id,
        r#type: "model",
        display_name: model.display_name,
        created_at: format!("{}T00:00:00Z", model.created),
        // The dates of deprecations are not simulated; null is among the values that the API gives.
        deprecated_at: None,
        retires_at: None,
        lifecycle: if model.deprecated { "deprecated" } else { "active" },
        line: model.line(),
        max_input_tokens: model.context,
        max_tokens: model.max_output,
        capabilities: Capabilities {
            batch: support(true),
            citations: support(true),
            code_execution: support(true),
            context_management: ContextManagement {
                supported: true,
                clear_thinking_20251015: support(true),
                clear_tool_uses_20250919: support(true),
                compact_20260112: support(model.generation != Generation::V45),
            },
            effort: effort(model),
            image_input: support(true),
            pdf_input: support(true),
            server_tools: ServerTools { supported: true, code_execution: support(true), web_search: support(true) },
            structured_outputs: support(true),
            thinking: Thinking { supported: true, types: ThinkingTypes { adaptive, between_tools, disabled, enabled } },
        },
    }
}

/// Models since 4.6 take an effort, those since 4.7 every one.
fn effort(model: &Model) -> Effort {
    let supported = model.generation != Generation::V45;
    let [some, every] = [support(supported), support(model.generation == Generation::V47)];
    Effort { supported, low: some, medium: some, high: some, xhigh: every, max: some }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn following_the_last_id_visits_every_model_once() {
        let mut seen = Vec::new();
        let mut after = String::new();
        loop {
            let page = page(models::all(), &format!("limit=4{after}")).unwrap();
            seen.extend(page.data.iter().map(|model| model.id));
            after = format!("&after_id={}", page.last_id.unwrap());
            if !page.has_more {
                break;
            }
        }
        assert_eq!(seen, models::all().iter().map(|model| model.id).collect::<Vec<_>>());
    }

    #[test]
    fn the_page_before_a_model_ends_right_before_it() {
        let all = models::all();
        let page = page(all, &format!("limit=2&before_id={}", all[3].id)).unwrap();
        assert_eq!((page.first_id, page.last_id), (Some(all[1].id), Some(all[2].id)));
        assert!(page.has_more);
    }

    #[test]
    fn a_model_says_which_thinking_it_takes() {
        let sonnet: serde_json::Value = serde_json::from_str(&one("claude-sonnet-5-5").unwrap()).unwrap();
        let types = &sonnet["capabilities"]["thinking"]["types"];
        assert_eq!(types["between_tools"]["supported"], true);
        assert_eq!(types["disabled"]["supported"], false);
        assert_eq!(sonnet["line"], "sonnet");
    }
}
