//! What a validation is made of, written beside its arms before the first of them begins. The same command goes on with it;
//! another one is refused with what differs, since arms of two different set-ups say nothing about each other.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cli::failure::Failure;
use crate::requests::Input;
use crate::store::{load_file, run_file, save_file};

use super::arm::{Arm, Shape};

/// Its name in the directory of a validation.
const NAME: &str = "validation.json";

/// See the module. Fields that are not known are passed over, so that later versions may add some.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Charter {
    /// As of `run.json`.
    format: u32,
    /// Models of the requests.
    models: Vec<String>,
    /// How many requests.
    n: u64,
    /// SHA-256 of the input.
    input_sha256: String,
    /// The arms, the baseline first.
    arms: Vec<ArmCharter>,
}

/// What an arm is made of, as far as it decides how fast and how dear it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ArmCharter {
    name: String,
    path: String,
    orgs: Vec<String>,
    /// Cap per org and lane, and lanes per key, of the command line; `None` takes those of the configuration.
    cap: Option<u32>,
    procs: Option<u32>,
    /// Requests in flight at the most, with the caps of the configuration; 0 in batches.
    slots: u32,
}

impl Charter {
    /// Of these arms over this input. `slots` are those of each arm.
    pub(super) fn of(input: &Input, arms: &[Arm], slots: &[u32]) -> Charter {
        let of = |(arm, slots): (&Arm, &u32)| {
            let (cap, procs) = match arm.shape {
                Shape::Sync { cap, procs } => (cap, procs),
                Shape::Batch => (None, None),
            };
            let (name, path, orgs) = (arm.name.to_owned(), arm.path().to_string(), arm.orgs.clone());
            ArmCharter { name, path, orgs, cap, procs, slots: *slots }
        };
        Charter {
            format: run_file::FORMAT,
            models: input.models().iter().map(|used| used.model.clone()).collect(),
            n: u64::from(input.len()),
            input_sha256: input.sha256().to_owned(),
            arms: arms.iter().zip(slots).map(of).collect(),
        }
    }

    /// Refuses a directory whose validation is another one.
    ///
    /// # Errors
    /// What differs, with both values; or what stands there cannot be read.
    pub(super) fn admits(&self, dir: &Path) -> Result<(), Failure> {
        let begun = load_file::<Charter>(&dir.join(NAME))?;
        let Some(begun) = begun else { return Ok(()) };
        match begun.differs(self) {
            None => Ok(()),
            Some(what) => Err(Failure::usage(format!(
                "{} holds a validation {what}: give the same command again to go on with it, or name another directory with --out",
                dir.display()
            ))),
        }
    }

    /// Writes it, durable before the first request of an arm.
    ///
    /// # Errors
    /// The directory or the file cannot be made.
    pub(super) fn save(&self, dir: &Path) -> Result<(), Failure> {
        std::fs::create_dir_all(dir)
            .map_err(|error| Failure::usage(format!("failed to make {}: {error}", dir.display())))?;
        save_file(&dir.join(NAME), self).map_err(Failure::from)
    }

    /// How this one differs from the one that is asked for, in words with both values: the first difference, the input before
    /// the arms.
    fn differs(&self, asked: &Charter) -> Option<String> {
        if self.models != asked.models {
            return Some(format!("of {}, not of {}", self.models.join(", "), asked.models.join(", ")));
        }
        if self.n != asked.n {
            return Some(format!("of another input: {} requests, not {}", self.n, asked.n));
        }
        if self.input_sha256 != asked.input_sha256 {
            let (begun, now) = (short(&self.input_sha256), short(&asked.input_sha256));
            return Some(format!("of another input: its SHA-256 begins with {begun}, not {now}"));
        }
        self.arms.iter().zip(&asked.arms).find_map(|(begun, asked)| begun.differs(asked))
    }
}

impl ArmCharter {
    fn differs(&self, asked: &ArmCharter) -> Option<String> {
        let name = &self.name;
        let listed = |orgs: &[String]| {
            let mut orgs = orgs.to_vec();
            orgs.sort_unstable();
            orgs.join(", ")
        };
        let said = |n: Option<u32>| n.map_or("that of the configuration".to_owned(), |n| n.to_string());
        let cap = if name == "baseline" { "--baseline-slots" } else { "--cap" };
        if self.path != asked.path {
            return Some(format!("whose {name} is on the {} path, not {}", self.path, asked.path));
        }
        if listed(&self.orgs) != listed(&asked.orgs) {
            return Some(format!("whose {name} is over the orgs {}, not {}", listed(&self.orgs), listed(&asked.orgs)));
        }
        if self.cap != asked.cap {
            return Some(format!("whose {name} has {cap} {}, not {}", said(self.cap), said(asked.cap)));
        }
        if self.procs != asked.procs {
            return Some(format!("whose {name} has --procs {}, not {}", said(self.procs), said(asked.procs)));
        }
        // The configuration has changed meanwhile.
        (self.slots != asked.slots)
            .then(|| format!("whose {name} has {} slots by its configuration, not {}", self.slots, asked.slots))
    }
}

/// The beginning of a checksum, which tells two apart.
fn short(sha256: &str) -> &str {
    sha256.get(..12).unwrap_or(sha256)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charter() -> Charter {
        let arm = |name: &str, orgs: &[&str], cap, procs, slots| ArmCharter {
            name: name.to_owned(),
            path: "sync".to_owned(),
            orgs: orgs.iter().map(|&org| org.to_owned()).collect(),
            cap,
            procs,
            slots,
        };
        Charter {
            format: run_file::FORMAT,
            models: vec!["claude-haiku-4-5".to_owned()],
            n: 100,
            input_sha256: "0123456789abcdef".to_owned(),
            arms: vec![arm("baseline", &["a"], Some(50), Some(1), 50), arm("fan-out", &["a", "b"], None, Some(2), 400)],
        }
    }

    #[test]
    fn another_validation_is_refused_with_both_values_of_what_differs() {
        let changed = |change: &dyn Fn(&mut Charter)| {
            let mut asked = charter();
            change(&mut asked);
            charter().differs(&asked).unwrap()
        };
        assert_eq!(
            changed(&|asked| asked.models = vec!["claude-opus-4-8".to_owned()]),
            "of claude-haiku-4-5, not of claude-opus-4-8"
        );
        assert_eq!(changed(&|asked| asked.n = 7), "of another input: 100 requests, not 7");
        assert_eq!(
            changed(&|asked| asked.input_sha256 = "ffff".to_owned()),
            "of another input: its SHA-256 begins with 0123456789ab, not ffff"
        );
        assert_eq!(
            changed(&|asked| asked.arms[0].path = "batch".to_owned()),
            "whose baseline is on the sync path, not batch"
        );
        assert_eq!(
            changed(&|asked| asked.arms[1].orgs = vec!["b".to_owned()]),
            "whose fan-out is over the orgs a, b, not b"
        );
        assert_eq!(changed(&|asked| asked.arms[0].cap = Some(30)), "whose baseline has --baseline-slots 50, not 30");
        assert_eq!(
            changed(&|asked| asked.arms[1].cap = Some(9)),
            "whose fan-out has --cap that of the configuration, not 9"
        );
        assert_eq!(
            changed(&|asked| asked.arms[1].procs = None),
            "whose fan-out has --procs 2, not that of the configuration"
        );
        assert_eq!(
            changed(&|asked| asked.arms[1].slots = 300),
            "whose fan-out has 400 slots by its configuration, not 300"
        );
        let mut turned = charter();
        turned.arms[1].orgs.reverse();
        assert_eq!(charter().differs(&turned), None);
    }

    #[test]
    fn a_directory_takes_the_same_validation_again_and_no_other() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("ab");
        assert!(charter().admits(&dir).is_ok());
        charter().save(&dir).unwrap_or_else(|failure| panic!("{}", failure.message));
        assert!(charter().admits(&dir).is_ok());
        let failure = Charter { n: 7, ..charter() }.admits(&dir).err().unwrap();
        assert!(failure.exit_code == 2 && failure.message.contains("100 requests, not 7"), "{}", failure.message);
        std::fs::write(dir.join(NAME), "{").unwrap();
        assert!(charter().admits(&dir).err().unwrap().message.contains(NAME));
    }
}
