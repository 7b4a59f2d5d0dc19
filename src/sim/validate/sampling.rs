//! `temperature`, `top_p` and `top_k`: which models and versions still take them.

use serde_json::Value;

use super::super::failure::Failure;
use super::super::models::{Generation, Model};
use super::{ApiVersion, expected};

/// Whether the sampling parameters are right for this model under this version.
///
/// # Errors
/// The API's answer when they are not.
pub(super) fn check_sampling(request: &Value, version: ApiVersion, model: &Model) -> Result<(), Failure> {
    let given = |field: &str| request.get(field).filter(|value| !value.is_null());
    for (field, default) in [("temperature", Some(1.0)), ("top_p", Some(1.0)), ("top_k", None)] {
        let Some(value) = given(field) else { continue };
        if version == ApiVersion::V2026 {
            return Err(Failure::invalid(format!("{field}: Extra inputs are not permitted")));
        }
        let number = value.as_f64().ok_or_else(|| expected(field, "number"))?;
        if field == "top_k" {
            if number < 0.0 {
                return Err(Failure::invalid("top_k: must be greater than or equal to 0"));
            }
        } else if !(0.0..=1.0).contains(&number) {
            return Err(Failure::invalid(format!("{field}: range: 0..1")));
        }
        if model.generation == Generation::V47 && Some(number) != default {
            return Err(Failure::invalid(format!("{field}: not supported by {}; leave it out", model.id)));
        }
    }
    if model.generation == Generation::V45 && given("temperature").is_some() && given("top_p").is_some() {
        return Err(Failure::invalid(
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        ));
    }
    Ok(())
}
