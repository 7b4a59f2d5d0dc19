//! Which org a key belongs to, and the keys that mean trouble.
//!
//! Where a scenario takes any key, some keys get the same answer to every request, so that a client's handling of it can
//! be tried without a scenario: those beginning with `sim-401`, `sim-403`, `sim-429`, `sim-500` and `sim-529`.

use std::collections::HashMap;

use http::StatusCode;

use super::core::Sim;
use super::failure::Failure;
use super::fault::{Fault, RetryAfterSetting, Strike};
use super::ids;
use super::scenario::OrgSettings;
use crate::model::Secret;
use crate::model::limits::Limiter;

/// Orgs by key.
#[derive(Default)]
pub(super) struct Keys(HashMap<String, usize>);

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keys({})", self.0.len())
    }
}

impl Keys {
    /// Whose a key is from now on.
    pub(super) fn insert(&mut self, key: &Secret, org: usize) {
        self.0.insert(key.expose().to_owned(), org);
    }
}

/// Most keys that are accepted where any is: who makes up more is not simulating anything.
const MAX_KEYS: usize = 10_000;

/// The generator of organisation ids.
const ORGANIZATION_DRAWS: u64 = 1;

/// Seconds that `sim-429` asks to wait.
const WAIT_S: u64 = 5;

impl Sim {
    /// The org of a key.
    ///
    /// # Errors
    /// It is nobody's.
    pub(super) fn org_of(&mut self, key: &str) -> Result<usize, Failure> {
        if let Some(org) = self.keys.0.get(key) {
            return Ok(*org);
        }
        let behaviour = self.scenario.any_key.clone().filter(|_| self.keys.0.len() < MAX_KEYS);
        let (Some(mut behaviour), Some(secret)) = (behaviour, Secret::new(key)) else {
            return Err(Failure::unauthorized("API key is invalid."));
        };
        if let Some(strike) = trouble(key) {
            behaviour.faults.insert(0, Fault::always(strike));
        }
        let number = self.orgs.len() - self.scenario.orgs.len() + 1;
        let organization = ids::organization(&mut ids::rng(self.seed, ORGANIZATION_DRAWS, number as u64));
        let label = format!("key-{number}");
        Ok(self.add_org(OrgSettings { label, key: secret, organization, behaviour, colleagues: Vec::new() }))
    }
}

/// What a key means that means trouble.
fn trouble(key: &str) -> Option<Strike> {
    let means = |prefix: &str| key.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    if means("sim-401") {
        Some(Strike::Unauthorized)
    } else if means("sim-403") {
        Some(Strike::Forbidden)
    } else if means("sim-429") {
        let retry_after = RetryAfterSetting::Seconds(WAIT_S, WAIT_S);
        Some(Strike::RateLimited { retry_after, limiter: Limiter::Requests, headers: true })
    } else if means("sim-500") {
        Some(Strike::ServerError { status: StatusCode::INTERNAL_SERVER_ERROR, processed: false })
    } else if means("sim-529") {
        let status = StatusCode::from_u16(529).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        Some(Strike::Overloaded { status, processed: false })
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_keys_that_begin_with_the_name_of_a_trouble_mean_it() {
        assert_eq!(trouble("sim-401-invalid"), Some(Strike::Unauthorized));
        assert!(matches!(trouble("sim-429"), Some(Strike::RateLimited { .. })));
        for key in ["sim-4299", "sim-high-prio", "sk-ant-api03-sim-429", ""] {
            assert_eq!(trouble(key), None, "{key}");
        }
    }
}
