//! A run that ended at its limit goes on with a higher one: the operator types it, and the gate then names it with the rest.

use crate::model::Money;
use crate::report::format;
use crate::tui::backstage::{Assessment, RunLimit};
use crate::tui::commands::confirm;
use crate::tui::field::TextField;
use crate::tui::state::{Overlay, UiState};

use super::runs::resume_question;

/// What is asked, and what was typed so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raise {
    /// What a resume would send.
    pub assessed: Assessment,
    /// The limit that ended the run.
    pub ended_at: RunLimit,
    /// The higher one, as it is typed.
    pub field: TextField,
    /// Why what was typed is not taken.
    pub refused: Option<String>,
}

impl Raise {
    /// Nothing is typed yet.
    pub(super) fn of(assessed: Assessment, ended_at: RunLimit) -> Raise {
        let field = TextField { text: String::new(), editing: true };
        Raise { assessed, ended_at, field, refused: None }
    }

    /// What it says: the run, what ended it, what the rest is projected to cost.
    pub fn lines(&self) -> Vec<String> {
        let Assessment { dir, input, n_left, cost, expected, spent, .. } = &self.assessed;
        let spent_words = format::money(*spent);
        let ended = match self.ended_at {
            RunLimit::Cost(most) => {
                format!("It ended at its limit of {}, of which {spent_words} is spent.", format::money(most))
            }
            limit => format!("It ended at its limit of {limit}; {spent_words} is spent."),
        };
        let mut lines = vec![format!("{input}: {} requests are left.", format::count(*n_left))];
        lines.extend([dir.display().to_string(), String::new(), ended]);
        lines.push(match expected {
            Some(expected) if matches!(self.ended_at, RunLimit::Cost(_)) => {
                let in_all = format::money(*spent + *expected);
                format!("The rest is projected to cost {cost}: about {in_all} in all.")
            }
            _ => format!("The rest is projected to cost {cost}."),
        });
        lines.push("With the limit as it is, it would stop at once.".to_owned());
        lines
    }

    /// What stands before what is typed.
    pub fn prompt(&self) -> &'static str {
        match self.ended_at {
            RunLimit::Cost(_) => "new limit, for the whole run, in dollars: $",
            RunLimit::Attempts(_) => "new limit, for the whole run, in attempts: ",
        }
    }

    /// The limit that was typed, if it is one and higher than what holds the run back.
    ///
    /// # Errors
    /// Why it is not taken, in words.
    fn typed(&self) -> Result<RunLimit, String> {
        let text = self.field.text.trim().trim_start_matches('$');
        match self.ended_at {
            RunLimit::Cost(most) => {
                let wanted = dollars(text)?;
                let spent = self.assessed.spent;
                match wanted {
                    wanted if wanted <= spent => Err(format!(
                        "{} is not more than the {} that is spent already",
                        format::money(wanted),
                        format::money(spent)
                    )),
                    wanted if wanted <= most => Err(format!(
                        "{} is not more than the {} at which it ended",
                        format::money(wanted),
                        format::money(most)
                    )),
                    wanted => Ok(RunLimit::Cost(wanted)),
                }
            }
            RunLimit::Attempts(most) => match text.replace(',', "").parse::<u64>() {
                Ok(wanted) if wanted > most => Ok(RunLimit::Attempts(wanted)),
                Ok(_) => Err(format!("it ended at {} attempts: type more", format::count(most))),
                Err(_) => Err(format!("{text:?} is not a number of attempts: write 20000")),
            },
        }
    }
}

/// Decimal dollars. A comma is not guessed at: it parts thousands for some and cents for others.
fn dollars(text: &str) -> Result<Money, String> {
    let plain = !text.is_empty()
        && text.chars().all(|c| c.is_ascii_digit() || c == '.')
        && text.chars().any(|c| c.is_ascii_digit())
        && text.len() <= 12;
    let parsed = text.parse::<f64>().ok().filter(|_| plain);
    let amount = parsed.ok_or_else(|| format!("{text:?} is not an amount: write dollars with a point, 12.50"))?;
    match amount {
        // As the option of the command line.
        amount if amount > 1e6 => Err(format!("{text}: must be at most 1000000")),
        amount => Ok(Money::from_usd(amount)),
    }
}

/// What was typed is meant: the gate opens with it, or it is said why not.
pub(in crate::tui) fn keep(ui: &mut UiState) {
    let Some(Overlay::Raise(raise)) = &mut ui.overlay else { return };
    match raise.typed() {
        Ok(limit) => {
            let assessed = raise.assessed.clone();
            confirm(ui, resume_question(assessed, Some(limit)));
        }
        Err(why) => raise.refused = Some(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Mono, Snapshot};
    use crate::tui::action::{Action, Context};
    use crate::tui::backstage::{Answer, Driver, Errand};
    use crate::tui::msg::{Msg, Reaction};
    use crate::tui::screens::Screen;
    use crate::tui::state::Tone;
    use crate::tui::update::update;

    fn asked(ended_at: RunLimit) -> UiState {
        let mut ui = UiState { screen: Screen::Runs, driver: Driver::Nothing, size: (80, 24), ..UiState::default() };
        let assessment = Assessment {
            dir: "/runs/judge".into(),
            input: "judge.jsonl".to_owned(),
            n_left: 1_200,
            cost: "$4.10 (between $3.00 and $5.20; token counts are measured)".to_owned(),
            expected: Some(Money::from_usd(4.1)),
            spent: Money::from_usd(1.9),
            max_cost: Some(Money::from_usd(2.0)),
            orgs: vec!["batch".to_owned()],
            ended_at: Some(ended_at),
            ..Assessment::default()
        };
        send(&mut ui, Msg::Told { ticket: 0, answer: Answer::Assessed(Ok(assessment)) });
        ui
    }

    fn send(ui: &mut UiState, msg: Msg) -> Vec<Reaction> {
        update(ui, msg, &Snapshot::default(), Mono::ZERO)
    }

    fn type_in(ui: &mut UiState, text: &str) -> Vec<Reaction> {
        text.chars().for_each(|c| drop(send(ui, Msg::Type(c))));
        send(ui, Msg::Act(Action::KeepText))
    }

    fn refused(ui: &UiState) -> String {
        match &ui.overlay {
            Some(Overlay::Raise(raise)) => raise.refused.clone().unwrap_or_default(),
            overlay => panic!("{overlay:?}"),
        }
    }

    #[test]
    fn a_run_that_ended_at_its_budget_goes_on_with_the_limit_that_is_typed_once_the_gate_has_named_it() {
        let mut ui = asked(RunLimit::Cost(Money::from_usd(2.0)));
        assert_eq!(ui.context(), Context::Field, "printable keys are text: y and q agree to nothing");
        let Some(Overlay::Raise(raise)) = &ui.overlay else { panic!("{:?}", ui.overlay) };
        let said = raise.lines().join("\n");
        for part in
            ["1,200 requests", "limit of $2.00", "$1.90 is spent", "cost $4.10", "about $6.00 in all", "/runs/judge"]
        {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(type_in(&mut ui, "6.50").is_empty(), "nothing goes on before the gate");
        let Some(Overlay::Confirm { focus: 0, ask }) = &ui.overlay else { panic!("{:?}", ui.overlay) };
        let said = ask.lines.join("\n");
        for part in ["from $2.00 to $6.50", "at most $4.60 more: $1.90 of $6.50 is spent", "1,200 requests"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let reactions = send(&mut ui, Msg::Act(Action::Agree));
        let [Reaction::Ask { errand, .. }] = &reactions[..] else { panic!("{reactions:?}") };
        let raised = Some(RunLimit::Cost(Money::from_usd(6.5)));
        let wanted = Errand::Resume { dir: "/runs/judge".into(), re_drive: false, agreed: 1_200, raised };
        assert_eq!(*errand, wanted);
        let toast = ui.toast.as_ref().unwrap();
        assert!(toast.tone == Tone::Asked && toast.text.contains("up to $6.50"), "{toast:?}");
    }

    #[test]
    fn a_limit_that_is_none_or_not_higher_is_refused_with_the_reason_and_stays_to_be_mended() {
        for (typed, why) in [
            ("99999999999", "must be at most 1000000"),
            ("1.5", "$1.50 is not more than the $1.90 that is spent already"),
            ("1.9", "$1.90 is not more than the $1.90 that is spent already"),
            ("$2", "$2.00 is not more than the $2.00 at which it ended"),
            ("5,50", "\"5,50\" is not an amount: write dollars with a point, 12.50"),
            ("", "\"\" is not an amount"),
            (".", "is not an amount"),
            ("1e9", "is not an amount"),
            ("-7", "is not an amount"),
            ("NaN", "is not an amount"),
            ("9999999999999", "is not an amount"),
        ] {
            let mut ui = asked(RunLimit::Cost(Money::from_usd(2.0)));
            type_in(&mut ui, typed);
            assert!(refused(&ui).contains(why), "{typed}: {}", refused(&ui));
            send(&mut ui, Msg::Erase);
            assert_eq!(refused(&ui), "", "it is gone with the next key");
        }
        for (typed, why) in [("7", "it ended at 7 attempts"), ("many", "is not a number of attempts")] {
            let mut ui = asked(RunLimit::Attempts(7));
            type_in(&mut ui, typed);
            assert!(refused(&ui).contains(why), "{typed}: {}", refused(&ui));
        }
    }

    #[test]
    fn attempts_are_raised_as_money_is_and_esc_leaves_all_as_it_was() {
        let mut ui = asked(RunLimit::Attempts(7_000));
        type_in(&mut ui, "20,000");
        let Some(Overlay::Confirm { ask, .. }) = &ui.overlay else { panic!("{:?}", ui.overlay) };
        assert!(ask.lines.join("\n").contains("from 7,000 attempts to 20,000 attempts"), "{:?}", ask.lines);
        let mut ui = asked(RunLimit::Attempts(7_000));
        let reactions = send(&mut ui, Msg::Act(Action::DropText));
        assert!(ui.overlay.is_none() && reactions.is_empty());
    }

    #[test]
    fn what_is_typed_is_in_view_at_every_size() {
        for size in [(40, 10), (80, 24), (120, 40)] {
            let mut ui = UiState { size, ..asked(RunLimit::Cost(Money::from_usd(2.0))) };
            type_in(&mut ui, "1.5");
            let shown = crate::tui::view::tests::screen(&Snapshot::default(), ui, size);
            assert!(shown.contains("$1.5▏") && shown.contains("! $1.50 is not more"), "{size:?}\n{shown}");
            let mut ui = UiState { size, ..asked(RunLimit::Cost(Money::from_usd(2.0))) };
            type_in(&mut ui, "6.5");
            let shown = crate::tui::view::tests::screen(&Snapshot::default(), ui, size);
            assert!(shown.contains("to $6.50, over") && shown.contains("at most $4.60 more"), "{size:?}\n{shown}");
        }
    }
}
