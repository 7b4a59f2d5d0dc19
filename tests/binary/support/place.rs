//! Directories of a test, what is put into them, and what is read out of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::process::{Ended, Running};
use super::server::Server;

/// Label, variable and key of each org. Each key begins as a real one does, and has a word that stands nowhere else.
pub(crate) const KEYS: [(&str, &str, &str); 3] = [
    ("high-prio", "ANTHROPIC_API_KEY", "sk-ant-api03-Oyster7Quicksand-highAA"),
    ("batch", "ANTHROPIC_BATCH_KEY", "sk-ant-api03-Walnut3Lighthouse-batchAA"),
    ("low-prio", "ANTHROPIC_API_KEY_LOW_PRIO", "sk-ant-api03-Kettle9Marigold-lowAA"),
];

/// A home of one's own.
pub(crate) struct Place {
    temp: tempfile::TempDir,
    env: Vec<(String, String)>,
}

/// Full windows at once and short waits: what a test is not about should not take its time.
const QUICK: &str = "[dispatch]\nstart-share = 1.0\nramp = \"1s\"\nbackoff-min = \"100ms\"\nbackoff-max = \"200ms\"\n";

impl Place {
    /// Without keys.
    pub(crate) fn new() -> Place {
        let temp = tempfile::Builder::new().prefix("fandeck-test-").tempdir().unwrap();
        let place = Place { temp, env: Vec::new() };
        for dir in ["tmp", "config/fandeck"] {
            std::fs::create_dir_all(place.path(dir)).unwrap();
        }
        place.config(QUICK);
        place
    }

    /// With the three keys, and the server as their base URL.
    pub(crate) fn at(server: &Server) -> Place {
        let mut place = Place::new();
        place.set("ANTHROPIC_BASE_URL", &server.url);
        for (_, variable, key) in KEYS {
            place.set(variable, key);
        }
        place
    }

    /// Sets a variable for every command from now on.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
    }

    /// A path below the place.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    /// A path below the place, as text.
    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Writes a file; gives its path as text.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), bytes).unwrap();
        self.text(name)
    }

    /// Replaces the user's config file.
    pub(crate) fn config(&self, text: &str) {
        self.write("config/fandeck/config.toml", text);
    }

    /// Adds to the user's config file, whose last table is `[dispatch]`.
    pub(crate) fn more_config(&self, text: &str) {
        self.config(&format!("{QUICK}{text}"));
    }

    /// Writes `n` requests with the ids `r-0`, `r-1`, …; gives the path as text.
    pub(crate) fn requests(&self, n: usize) -> String {
        let lines: Vec<String> = (0..n).map(|no| request(&format!("r-{no}"), &format!("judge case {no}"))).collect();
        self.write("in.jsonl", lines.concat())
    }

    /// The environment of a command, whole.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let mut env: Vec<(String, String)> = [
            ("HOME", "home"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_STATE_HOME", "state"),
            ("TMPDIR", "tmp"),
        ]
        .map(|(name, dir)| (name.to_owned(), self.text(dir)))
        .to_vec();
        env.push(("LANG".to_owned(), "C.UTF-8".to_owned()));
        env.extend(self.env.iter().cloned());
        env
    }

    /// A command of the binary, with an environment that holds nothing but what this place says.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fandeck"));
        command.args(args).env_clear().envs(self.environment()).current_dir(self.temp.path());
        command.stdin(Stdio::null());
        command
    }

    /// Starts the binary.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        Running::spawn(self.command(args))
    }

    /// Runs the binary to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        self.start(args).end()
    }

    /// The run directories at the default location. What begins with a dot there is no run.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.path("data/fandeck/runs")) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap());
        paths
            .filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."))
            .map(|entry| entry.path())
            .collect()
    }

    /// The lines of `fandeck export` of a run, as JSON.
    pub(crate) fn export(&self, dir: &str, more: &[&str]) -> Vec<Value> {
        let ended = self.run(&[&["export", dir], more].concat());
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        json_lines(&ended.stdout)
    }

    /// Every file below the place, with its content.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        gather(self.temp.path(), &mut found);
        found
    }
}

fn gather(dir: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(&path, found);
        } else {
            let bytes = std::fs::read(&path).unwrap();
            found.push((path, bytes));
        }
    }
}

/// A line of an input.
pub(crate) fn request(id: &str, prompt: &str) -> String {
    let params = json!({
        "model": "claude-haiku-4-5",
        "max_tokens": 64,
        "messages": [{"role": "user", "content": prompt}],
    });
    format!("{}\n", json!({"custom_id": id, "params": params}))
}

/// Lines of JSON.
#[track_caller]
pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// The last line, as JSON.
#[track_caller]
pub(crate) fn last_json(text: &str) -> Value {
    json_lines(text.lines().last().unwrap_or_else(|| panic!("no line at all"))).remove(0)
}

/// The final line of a run under `--json`, checked for what holds of every one.
#[track_caller]
pub(crate) fn finished(ended: &Ended) -> Value {
    let line = last_json(&ended.stdout);
    assert_eq!(line["event"], "run-finished", "{line}");
    assert_eq!(line["exit_code"], ended.code, "{line}\n{}", ended.stderr);
    let counted = ["n_cached", "n_succeeded", "n_refused", "n_invalid", "n_re_drivable", "n_unsent"];
    let sum: u64 = counted.iter().map(|name| line[name].as_u64().unwrap_or_else(|| panic!("{name} in {line}"))).sum();
    assert_eq!(line["n_total"], sum, "{line}");
    line
}

/// The ids of exported lines.
pub(crate) fn ids(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["custom_id"].as_str().unwrap()).collect()
}

/// Requests with a long prefix that is written to the prompt cache and read from there.
pub(crate) fn with_prefix(place: &Place, n: usize) -> String {
    let prefix = "Judge by these rules, one after the other, and say which of them decided. ".repeat(120);
    let line = |no: usize| {
        let params = json!({
            "model": "claude-sonnet-4-5",
            "max_tokens": 64,
            "system": [{"type": "text", "text": prefix, "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": format!("case {no}")}],
        });
        format!("{}\n", json!({"custom_id": format!("r-{no}"), "params": params}))
    };
    place.write("in.jsonl", (0..n).map(line).collect::<String>())
}
