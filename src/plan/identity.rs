//! What a cell is called, and the hash of everything that could change a figure.

use super::axes::Names;
use crate::ids::{CellId, VariantId, hex};
use crate::spec::{Build, Choice, CpuShares, LoadSpec, ProcessSpec, Ready, Text};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Everything that could change a figure. Its hash tells two cells apart.
#[derive(Serialize)]
pub(super) struct Identity<'a> {
    /// Pauses and sampling are the run's and in its record; the CPUs that a server may use are the cell's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cpus: Option<CpuShares>,
    /// Its commit, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) revision: Option<&'a Text>,
    pub(super) builds: &'a [Build],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub(super) services: &'a [String],
    /// What its runtimes and services are made of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) grounds: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) url: Option<&'a str>,
    /// A fixed port is as good as any other.
    #[serde(serialize_with = "without_ports")]
    pub(super) processes: &'a [ProcessSpec],
    pub(super) ready: &'a Ready,
    #[serde(skip_serializing_if = "<[Vec<Text>]>::is_empty")]
    pub(super) prepare: &'a [Vec<Text>],
    pub(super) work: &'a LoadSpec,
}

pub(super) fn without_ports<S: serde::Serializer>(
    processes: &[ProcessSpec],
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_seq(processes.iter().map(|process| match process.port {
        None => Cow::Borrowed(process),
        Some(_) => Cow::Owned(ProcessSpec {
            port: None,
            ..process.clone()
        }),
    }))
}

/// The ids of a cell. `text` is room for what is hashed.
pub(super) fn ids(
    names: &Names<'_>,
    identity: &Identity<'_>,
    text: &mut Vec<u8>,
) -> (VariantId, CellId) {
    let variant = variant(names);
    text.clear();
    // Writing to memory cannot fail, and all of it is strings, numbers and lists.
    let written = serde_json::to_writer(&mut *text, identity);
    debug_assert!(written.is_ok());
    let hash = hex(&Sha256::digest(text)[..6]);
    let id = CellId(format!("{variant}@{}#{hash}", names.load.name.value));
    (VariantId(variant), id)
}

/// What a cell is called, without its hash.
pub(super) fn name(names: &Names<'_>) -> String {
    format!("{}@{}", variant(names), names.load.name.value)
}

fn variant(names: &Names<'_>) -> String {
    let mut variant = names.server.name.value.clone();
    for (toggle, value) in &names.toggles {
        // Writing to a String cannot fail.
        let _ = write!(variant, "/{}={}", toggle.name.value, value.name.value);
    }
    variant
}

pub(super) fn choices(names: &Names<'_>) -> Vec<Choice> {
    names
        .toggles
        .iter()
        .map(|(toggle, value)| Choice {
            toggle: toggle.name.value.clone(),
            value: value.name.value.clone(),
            label: value.label.clone(),
        })
        .collect()
}
