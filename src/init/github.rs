//! The workflow for GitHub: pull requests measure their base against their head in one job, nights run by a schedule.

use super::{Found, Language};
use std::fmt::Write as _;
use std::path::Path;

/// The workflow. `folder` is where the repository that was looked at lies in the one on GitHub; empty where it is that.
/// `go_mod` is a module's file of it, from the top, where there is one.
pub fn workflow(found: &Found, folder: &Path, go_mod: Option<&Path>) -> String {
    let folder = folder.display().to_string();
    let inside = if folder.is_empty() {
        String::new()
    } else {
        format!(
            "    defaults:\n      run:\n        working-directory: {}\n",
            quoted(&folder)
        )
    };
    let prefix = if folder.is_empty() {
        String::new()
    } else {
        format!("{folder}/")
    };
    let set_up = set_up(found, go_mod);
    WORKFLOW
        .replace("@INSIDE@\n", &inside)
        .replace("@SET_UP@\n", &set_up)
        .replace("@REPORTS@", &quoted(&format!("{prefix}reports")))
}

/// Steps that bring the languages. Cargo is there, since hotlap itself needs it.
fn set_up(found: &Found, go_mod: Option<&Path>) -> String {
    let mut steps = String::new();
    let mut step = |action: &str, key: &str, value: &str| {
        let _ = write!(
            steps,
            "      - uses: {action}\n        with:\n          {key}: {}\n",
            quoted(value)
        );
    };
    for language in found.languages() {
        match language {
            Language::Node => step("actions/setup-node@v4", "node-version", "lts/*"),
            Language::Go => match go_mod {
                Some(file) => step(
                    "actions/setup-go@v5",
                    "go-version-file",
                    &file.display().to_string(),
                ),
                None => step("actions/setup-go@v5", "go-version", "stable"),
            },
            Language::Python => step("actions/setup-python@v5", "python-version", "3.x"),
            Language::Rust => {}
        }
    }
    steps
}

/// A string of YAML; JSON's are such.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

const WORKFLOW: &str = r#"# By `hotlap init --ci github`.
#
# Runners that are shared are noisy: other people's jobs take their CPU time, and tonight's machine is another one than
# last night's. Trust what is compared within one job, as a pull request's base and head are, in rounds that meet the
# same noise; look at nights as hints, or give them a runner of your own (`runs-on: self-hosted`).
name: hotlap

on:
  pull_request:
  schedule:
    - cron: "17 3 * * *"
  workflow_dispatch:

permissions:
  contents: read

concurrency:
  group: hotlap-${{ github.workflow }}-${{ github.ref }}
  cancel-in-progress: ${{ github.event_name == 'pull_request' }}

env:
  # LOOK: the one line to fill in: the address of hotlap's repository, or of your copy of it, such as
  # "https://github.com/OWNER/hotlap". `cargo install --git` takes it.
  HOTLAP_REPOSITORY: ""

jobs:
  pull-request:
    name: base against head
    if: github.event_name == 'pull_request'
    runs-on: ubuntu-latest
    timeout-minutes: 60
@INSIDE@
    steps:
      - uses: actions/checkout@v4
        with:
          # The base is checked out beside the head, so its commits must be here.
          fetch-depth: 0
@SET_UP@
      - name: hotlap
        run: cargo install --locked --git "${HOTLAP_REPOSITORY:?write it at the top of this workflow}" hotlap
        working-directory: ${{ runner.temp }}
      - name: measure base against head
        env:
          BASE: ${{ github.event.pull_request.base.sha }}
        run: hotlap run suites --compare-with "$BASE" --budget 30m --gate --out "$RUNNER_TEMP/reports"
      - name: summary
        if: always()
        # Without images, which would lead nowhere there.
        run: |
          for run in "$RUNNER_TEMP"/reports/*/runs/*; do
            [ -f "$run/run.json" ] || continue
            hotlap report "$run" --template pull-request --stdout >> "$GITHUB_STEP_SUMMARY"
          done
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: hotlap-reports
          path: ${{ runner.temp }}/reports

  night:
    if: github.event_name != 'pull_request'
    runs-on: ubuntu-latest
    timeout-minutes: 350
@INSIDE@
    steps:
      - uses: actions/checkout@v4
@SET_UP@
      - name: hotlap
        run: cargo install --locked --git "${HOTLAP_REPOSITORY:?write it at the top of this workflow}" hotlap
        working-directory: ${{ runner.temp }}
      - name: earlier nights
        uses: actions/cache/restore@v4
        with:
          path: @REPORTS@
          key: hotlap-reports-${{ github.run_id }}-${{ github.run_attempt }}
          restore-keys: hotlap-reports-
      - name: measure
        run: hotlap run suites --budget 5h --gate --if-changed --or-resume
      - name: thin old runs
        if: always()
        run: hotlap clean --keep 30
      # A night whose gates fell is a night too.
      - name: keep the nights
        if: always()
        uses: actions/cache/save@v4
        with:
          path: @REPORTS@
          key: hotlap-reports-${{ github.run_id }}-${{ github.run_attempt }}
      - name: summary
        if: always()
        run: |
          for runs in reports/*/runs; do
            [ -d "$runs" ] || continue
            suite=$(basename "$(dirname "$runs")")
            hotlap report latest --suite "$suite" --template pull-request --stdout >> "$GITHUB_STEP_SUMMARY"
          done
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: hotlap-reports
          path: @REPORTS@
"#;
