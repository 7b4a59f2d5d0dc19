//! What lines lead to, as stories.

use super::*;
use crate::model::{Command, SubBatchStatus};
use crate::report::fixtures;

/// Types lines one after the other; gives what was read out after the last one, and the commands of all.
fn typed(snapshot: &Snapshot, lines: &[&str]) -> (String, Vec<Command>) {
    let mut choices = Choices::new(false);
    let (mut told, mut commands) = (Vec::new(), Vec::new());
    for line in lines {
        let (lines, reactions) = choices.take(line, snapshot, Mono::ZERO);
        told = lines;
        commands.extend(reactions.into_iter().filter_map(|reaction| match reaction {
            Reaction::Send { command, .. } => Some(command),
            _ => None,
        }));
    }
    (told.join("\n"), commands)
}

/// The number of the choice with these words.
fn number(list: &str, words: &str) -> String {
    let line = list.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("no {words} in:\n{list}"));
    line.split_once(". ").unwrap().0.to_owned()
}

#[test]
fn an_empty_line_tells_how_everything_stands_and_what_can_be_done() {
    insta::assert_snapshot!(typed(&fixtures::batches(), &[""]).0);
}

#[test]
fn a_number_does_what_the_key_does_and_says_so() {
    let list = typed(&fixtures::busy(), &[""]).0;
    let (told, commands) = typed(&fixtures::busy(), &["", &number(&list, "pause the run")]);
    assert_eq!(told, "asked: pause the run");
    assert!(matches!(commands[..], [Command::PauseRun { .. }]), "{commands:?}");
    let list = typed(&fixtures::paused(), &[""]).0;
    let (_, commands) = typed(&fixtures::paused(), &["", &number(&list, "let the run go on")]);
    assert!(matches!(commands[..], [Command::ResumeRun { .. }]), "{commands:?}");
}

#[test]
fn an_org_is_paused_by_its_id() {
    let busy = fixtures::busy();
    let to_orgs = number(&typed(&busy, &[""]).0, "pause an org");
    let list = typed(&busy, &["", &to_orgs]).0;
    let (_, commands) = typed(&busy, &["", &to_orgs, &number(&list, "pause: low-prio")]);
    let id = busy.orgs.iter().find(|org| org.label == "low-prio").unwrap().id;
    assert_eq!(commands, [Command::PauseOrg { org: id }]);
}

#[test]
fn a_sub_batch_is_canceled_after_a_question_whose_first_choice_changes_nothing() {
    let stuck = fixtures::batches();
    let (_, view) = batches_of(&stuck).unwrap();
    let index = view.sub_batches.iter().find(|sub| sub.status == SubBatchStatus::InProgress).unwrap().index;
    let to_subs = number(&typed(&stuck, &[""]).0, "cancel a sub-batch");
    let cancel = number(&typed(&stuck, &["", &to_subs]).0, &format!("cancel: sub-batch {index} "));
    let (question, commands) = typed(&stuck, &["", &to_subs, &cancel]);
    assert!(question.starts_with(&format!("cancel?\nSub-batch {index} ")), "{question}");
    assert!(question.ends_with("1. Wait on\n2. Cancel it"), "{question}");
    assert_eq!(commands, []);
    assert_eq!(typed(&stuck, &["", &to_subs, &cancel, "1"]).1, []);
    let (_, commands) = typed(&stuck, &["", &to_subs, &cancel, "2"]);
    assert!(matches!(commands[..], [Command::CancelSubBatch { sub_batch, .. }] if sub_batch == index), "{commands:?}");
    // An empty line leaves the question, and what it offered.
    assert_eq!(typed(&stuck, &["", &to_subs, &cancel, "", "99"]).1, []);
}

#[test]
fn who_leaves_is_asked_how() {
    let busy = fixtures::busy();
    let leave = number(&typed(&busy, &[""]).0, "leave");
    let list = typed(&busy, &["", &leave]).0;
    assert!(list.ends_with("1. Stay\n2. Drain\n3. Stop now"), "{list}");
    assert_eq!(typed(&busy, &["", &leave, "1"]).1, []);
    assert!(matches!(typed(&busy, &["", &leave, "2"]).1[..], [Command::DrainRun { .. }]));
    assert!(matches!(typed(&busy, &["", &leave, "3"]).1[..], [Command::StopRun { .. }]));
}

#[test]
fn what_is_no_choice_is_answered_with_those_that_are() {
    let busy = fixtures::busy();
    for line in ["0", "99", "-1", "pause", "\u{1b}[2J", "99999999999999999999"] {
        let (told, commands) = typed(&busy, &["", line]);
        assert!(told.contains("is no choice: type a number from 1 to "), "{told}");
        assert!(!told.contains('\u{1b}'), "{told:?}");
        assert_eq!(commands, []);
    }
    // Nothing was read out yet, or what was offered has been taken.
    assert!(typed(&busy, &["1"]).0.contains("press Enter"));
    assert_eq!(typed(&busy, &["", "1", "1"]).1.len(), 1);
}

#[test]
fn read_only_offers_nothing_that_changes_anything() {
    let mut choices = Choices::new(true);
    let stuck = fixtures::batches();
    let (told, _) = choices.take("", &stuck, Mono::ZERO);
    let offered: Vec<&String> = told.iter().filter(|line| line.contains(". ")).collect();
    assert!(offered.iter().all(|line| line.contains("leave")), "{offered:?}");
}

#[test]
fn an_answer_is_told_once() {
    let busy = fixtures::busy();
    let mut choices = Choices::new(false);
    choices.take("", &busy, Mono::ZERO);
    let (_, reactions) = choices.take("1", &busy, Mono::ZERO);
    let [Reaction::Send { ticket, .. }] = reactions[..] else { panic!("{reactions:?}") };
    let done = CommandOutcome::Done("paused; 3 in flight finish".to_owned());
    assert_eq!(choices.answered(ticket, done.clone(), &busy, Mono::ZERO), ["done: paused; 3 in flight finish"]);
    assert_eq!(choices.answered(ticket, done, &busy, Mono::ZERO), Vec::<String>::new());
}
