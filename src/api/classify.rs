//! Whose fault an error is: the request's, the org's account's, or nobody's for long.
//!
//! Decided on the error's code, its type and the HTTP status, in this order, by the table of the API's documentation.
//! Messages are for people and are not matched on, with one exception: a low credit balance, a usage limit that the
//! organisation set for itself, and an organisation that was disabled come as a plain 400 `invalid_request_error` without
//! a code, and to take them for a mistake in the request would burn every request of the run.

use crate::model::{AccountTrouble, LimitKind, Trouble};

/// What there is to decide on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Evidence<'e> {
    /// The HTTP status; `None` for a row of a batch's results.
    pub(super) status: Option<u16>,
    /// `error.type`; `None` when the body does not have the shape of this API's errors.
    pub(super) kind: Option<&'e str>,
    /// `error.details.error_code`.
    pub(super) code: Option<&'e str>,
    /// `error.message`.
    pub(super) message: &'e str,
}

/// Whose fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// The request's: terminal.
    Invalid,
    /// Not the request's: to be sent again.
    Trouble(Trouble),
}

/// Classifies an error.
pub(super) fn classify(evidence: &Evidence<'_>) -> Class {
    let decided = evidence
        .code
        .and_then(by_code)
        .or_else(|| is_overload(evidence).then_some(Trouble::Overloaded))
        .map(Class::Trouble)
        .unwrap_or_else(|| by_status(evidence));
    match decided {
        Class::Invalid => by_wording(evidence.message).map_or(Class::Invalid, Class::Trouble),
        trouble => trouble,
    }
}

fn by_code(code: &str) -> Option<Trouble> {
    Some(match code {
        "enforced_spend_limit_reached" | "contract_spend_limit_reached" => Trouble::Account(AccountTrouble::SpendLimit),
        "organization_on_hold"
        | "cmek_key_disabled"
        | "workspace_human_review_disabled"
        | "claude_code_key_creator_not_member" => Trouble::Account(AccountTrouble::OnHold),
        "ramp_limit_exceeded" => Trouble::RateLimited(LimitKind::Ramp),
        _ => return None,
    })
}

/// The API has been seen to say `overloaded_error` under 500 and 503, and in streams under 200.
fn is_overload(evidence: &Evidence<'_>) -> bool {
    evidence.status == Some(529) || evidence.kind == Some("overloaded_error")
}

fn by_status(evidence: &Evidence<'_>) -> Class {
    let account = |account| Class::Trouble(Trouble::Account(account));
    match (evidence.status, evidence.kind) {
        (Some(401), _) => account(AccountTrouble::Auth),
        (Some(402), _) => account(AccountTrouble::Billing),
        (Some(403), _) => account(AccountTrouble::Permission),
        (Some(408 | 409 | 425 | 500..), _) => Class::Trouble(Trouble::Server),
        // Without a spend code it heals by waiting, whether or not it says for how long.
        (Some(429), _) => Class::Trouble(Trouble::RateLimited(LimitKind::Steady)),
        // Answered by the edge, possibly with a page of its own: still about this one request.
        (Some(413), _) => Class::Invalid,
        (Some(200..=299), None) => Class::Trouble(Trouble::Broken),
        (Some(100..=199 | 300..=399), _) | (Some(_), None) => account(AccountTrouble::Endpoint),
        (Some(200..=299), Some(kind)) => by_type(kind).unwrap_or(Class::Trouble(Trouble::Broken)),
        (Some(_), Some(kind)) => by_type(kind).unwrap_or(Class::Invalid),
        // In a batch's results every type but the request's own is the server's: resend as is.
        (None, kind) => kind.and_then(by_type).unwrap_or(Class::Trouble(Trouble::Server)),
    }
}

/// Types that mean the same under any status.
fn by_type(kind: &str) -> Option<Class> {
    Some(match kind {
        "invalid_request_error" | "not_found_error" | "request_too_large" => Class::Invalid,
        "authentication_error" => Class::Trouble(Trouble::Account(AccountTrouble::Auth)),
        "billing_error" => Class::Trouble(Trouble::Account(AccountTrouble::Billing)),
        "permission_error" => Class::Trouble(Trouble::Account(AccountTrouble::Permission)),
        "rate_limit_error" => Class::Trouble(Trouble::RateLimited(LimitKind::Steady)),
        "api_error" | "timeout_error" | "conflict_error" => Class::Trouble(Trouble::Server),
        _ => return None,
    })
}

/// The exception that the module's header explains. The wordings were seen on the wire in 2025 and 2026.
fn by_wording(message: &str) -> Option<Trouble> {
    let message = message.to_ascii_lowercase();
    if message.contains("credit balance is too low") {
        Some(Trouble::Account(AccountTrouble::Credit))
    } else if message.contains("reached your specified") && message.contains("usage limits") {
        Some(Trouble::Account(AccountTrouble::SpendLimit))
    } else if message.contains("organization has been disabled") {
        Some(Trouble::Account(AccountTrouble::OnHold))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INVALID: Class = Class::Invalid;
    const SERVER: Class = Class::Trouble(Trouble::Server);
    const OVERLOADED: Class = Class::Trouble(Trouble::Overloaded);
    const STEADY: Class = Class::Trouble(Trouble::RateLimited(LimitKind::Steady));
    const RAMP: Class = Class::Trouble(Trouble::RateLimited(LimitKind::Ramp));

    const fn account(account: AccountTrouble) -> Class {
        Class::Trouble(Trouble::Account(account))
    }

    fn class(status: u16, kind: Option<&str>, code: Option<&str>, message: &str) -> Class {
        classify(&Evidence { status: Some(status), kind, code, message })
    }

    #[test]
    fn the_table_of_the_apis_errors_is_classified_row_by_row() {
        for (status, kind, code, expected) in [
            (400, "invalid_request_error", None, INVALID),
            (400, "invalid_request_error", Some("image_dimensions_too_large"), INVALID),
            (400, "invalid_request_error", Some("request_body_encoding_invalid"), INVALID),
            (400, "invalid_request_error", Some("organization_on_hold"), account(AccountTrouble::OnHold)),
            (400, "invalid_request_error", Some("cmek_key_disabled"), account(AccountTrouble::OnHold)),
            (400, "invalid_request_error", Some("workspace_human_review_disabled"), account(AccountTrouble::OnHold)),
            (400, "invalid_request_error", Some("claude_code_key_creator_not_member"), account(AccountTrouble::OnHold)),
            (401, "authentication_error", None, account(AccountTrouble::Auth)),
            (402, "billing_error", None, account(AccountTrouble::Billing)),
            (403, "permission_error", None, account(AccountTrouble::Permission)),
            (404, "not_found_error", None, INVALID),
            (405, "invalid_request_error", None, INVALID),
            (408, "timeout_error", Some("request_body_timeout"), SERVER),
            (409, "conflict_error", None, SERVER),
            (413, "request_too_large", None, INVALID),
            (415, "invalid_request_error", None, INVALID),
            (422, "a_type_of_next_year", None, INVALID),
            (425, "api_error", None, SERVER),
            (429, "rate_limit_error", None, STEADY),
            (429, "rate_limit_error", Some("ramp_limit_exceeded"), RAMP),
            (429, "rate_limit_error", Some("a_code_of_next_year"), STEADY),
            (500, "api_error", None, SERVER),
            (503, "api_error", Some("cmek_key_unreachable"), SERVER),
            (504, "timeout_error", None, SERVER),
            (529, "overloaded_error", None, OVERLOADED),
            (599, "api_error", None, SERVER),
        ] {
            assert_eq!(class(status, Some(kind), code, "words"), expected, "{status} {kind} {code:?}");
        }
    }

    #[test]
    fn l7_overload_is_overload_under_any_status() {
        for status in [200, 400, 429, 500, 503, 529] {
            assert_eq!(class(status, Some("overloaded_error"), None, "Overloaded"), OVERLOADED, "{status}");
        }
        assert_eq!(class(529, None, None, ""), OVERLOADED);
    }

    #[test]
    fn l8_a_wrong_key_is_the_orgs_trouble_even_without_the_apis_shape() {
        assert_eq!(class(401, None, None, ""), account(AccountTrouble::Auth));
        assert_eq!(class(403, None, None, ""), account(AccountTrouble::Permission));
        assert_eq!(class(400, Some("authentication_error"), None, ""), account(AccountTrouble::Auth));
    }

    #[test]
    fn l10_money_trouble_is_the_orgs_in_each_of_its_forms() {
        let spend = account(AccountTrouble::SpendLimit);
        assert_eq!(class(429, Some("rate_limit_error"), Some("enforced_spend_limit_reached"), ""), spend);
        assert_eq!(class(429, Some("rate_limit_error"), Some("contract_spend_limit_reached"), ""), spend);
        let usage =
            "You have reached your specified API usage limits. You will regain access on 2026-08-01 at 00:00 UTC.";
        assert_eq!(class(400, Some("invalid_request_error"), None, usage), spend);
        let workspace = "You have reached your specified workspace API usage limits. You will regain access on …";
        assert_eq!(class(400, Some("invalid_request_error"), None, workspace), spend);
        let credit = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing…";
        assert_eq!(class(400, Some("invalid_request_error"), None, credit), account(AccountTrouble::Credit));
        let disabled = "This organization has been disabled.";
        assert_eq!(class(400, Some("invalid_request_error"), None, disabled), account(AccountTrouble::OnHold));
    }

    #[test]
    fn l11_a_model_that_does_not_exist_is_the_requests_fault() {
        assert_eq!(class(404, Some("not_found_error"), None, "model: claude-nope"), INVALID);
    }

    #[test]
    fn l17_a_body_that_is_not_this_apis_is_classified_by_status_alone() {
        let endpoint = account(AccountTrouble::Endpoint);
        for (status, expected) in [
            (101, endpoint),
            (200, Class::Trouble(Trouble::Broken)),
            (204, Class::Trouble(Trouble::Broken)),
            (301, endpoint),
            (308, endpoint),
            (400, endpoint),
            (404, endpoint),
            (405, endpoint),
            (407, endpoint),
            (408, SERVER),
            (409, SERVER),
            (413, INVALID),
            (425, SERVER),
            (429, STEADY),
            (500, SERVER),
            (502, SERVER),
            (521, SERVER),
            (999, SERVER),
        ] {
            assert_eq!(class(status, None, None, ""), expected, "{status}");
        }
    }

    #[test]
    fn b7_rows_of_a_batch_are_classified_by_type_alone() {
        let row = |kind, message| classify(&Evidence { status: None, kind, code: None, message });
        assert_eq!(row(Some("invalid_request_error"), "max_tokens: too large"), INVALID);
        assert_eq!(
            row(Some("invalid_request_error"), "Your credit balance is too low to access the Anthropic API."),
            account(AccountTrouble::Credit)
        );
        assert_eq!(row(Some("billing_error"), ""), account(AccountTrouble::Billing));
        assert_eq!(row(Some("a_type_of_next_year"), ""), SERVER);
        assert_eq!(row(Some("api_error"), ""), SERVER);
        assert_eq!(row(None, ""), SERVER);
    }

    #[test]
    fn every_status_and_type_has_a_class() {
        for status in 100..=999 {
            for kind in [None, Some("invalid_request_error"), Some("x")] {
                let _ = class(status, kind, None, "");
            }
        }
    }
}
