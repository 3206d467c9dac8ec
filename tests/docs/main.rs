//! What the documents show is so. Each block of code in `README.md` and `docs/` has a way in which it is tested, or stands with a
//! reason in a table of these tests; suites are read, commands are understood, and what can run here runs; links lead somewhere.
//!
//! A comment before a block says how it is tested:
//!
//! - `<!-- test: file NAME -->`: its text becomes this file, in the page's own folder.
//! - `<!-- test: run -->`: its commands are run there; with `exit 2` behind it the last has that exit code. Under `$ command` in a `console`
//!   block stand lines that it prints; figures may differ.
//! - `<!-- test: served -->`: the same beside a demo server, which has the place of port 8080. Loads are made short.
//! - `<!-- test: steps -->`: what `hotlap plan` says of the page's suite up to there, to the letter.
//! - `<!-- test: a piece of FILE -->` … `<!-- end of the piece -->`: the lines between are those of this file of the repository;
//!   `a piece like FILE`: of this file that the page's commands have made, where figures may differ.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its files has failed"
)]

mod commands;
mod links;
mod page;
mod scene;
mod shape;
mod suites;
