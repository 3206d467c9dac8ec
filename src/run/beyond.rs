//! What a suite may ask for and this version of hotlap cannot carry out: such a
//! cell is skipped with the reason, and never run as if it had not been asked.

use crate::generator;
use crate::load;
use crate::spec::{Cell, Http, RunSettings, Skip};

/// What this version cannot carry out of a cell.
pub fn beyond(cell: &Cell) -> Option<Skip> {
    if let Some(reason) = untrusting(cell) {
        return Some(Skip {
            reason,
            install: None,
        });
    }
    let what = features(cell);
    let reason = if what.is_empty() {
        by_its_generator(cell)?
    } else {
        format!(
            "this version of hotlap does not carry out {}",
            what.join(", ")
        )
    };
    Some(Skip {
        reason,
        install: None,
    })
}

/// What the generator that a cell asks for has no way to do.
fn by_its_generator(cell: &Cell) -> Option<String> {
    let name = cell.work.generator.as_ref()?;
    let mut what = generator::cannot(name, &cell.work)?;
    if is_behind_a_socket(cell) {
        what.push(
            "it reaches a server by its port alone, and this one listens on a Unix-domain socket"
                .to_owned(),
        );
    }
    (!what.is_empty()).then(|| format!("{name} cannot make this load: {}", what.join("; ")))
}

/// Why no certificate could be checked that the suite gives no `ca` for.
fn untrusting(cell: &Cell) -> Option<String> {
    let tls = cell.work.tls.as_ref()?;
    if tls.insecure || tls.ca.is_some() {
        return None;
    }
    let why = load::untrusting()?;
    Some(format!(
        "{why}; name the certificate that signed the server's with `tls.ca`"
    ))
}

fn is_behind_a_socket(cell: &Cell) -> bool {
    let front = cell.front_process();
    front.is_some_and(|front| front.socket.is_some())
        || cell
            .url
            .as_ref()
            .is_some_and(|url| url.starts_with("unix:"))
}

fn features(cell: &Cell) -> Vec<String> {
    let work = &cell.work;
    let of_loads = [
        (
            work.pipelining > 1 && work.pace.is_some(),
            "pipelining in an open loop",
        ),
        (
            work.http == Http::Two && !work.keep_alive,
            "connections of HTTP/2 for one request each (`keep_alive = false`)",
        ),
        (
            work.http == Http::Two && work.pace.is_some(),
            "open loops over HTTP/2",
        ),
        (
            work.http == Http::Two
                && (!work.mix.is_empty() || work.varies() || work.request.body_file.is_some()),
            "mixes, `body_file`, `counter` and `random` over HTTP/2",
        ),
    ];
    let mut what: Vec<String> = of_loads
        .into_iter()
        .filter(|(asked, _)| *asked)
        .map(|(_, what)| what.to_owned())
        .collect();
    let unknown = work.generator.as_ref();
    what.extend(
        unknown
            .filter(|name| generator::cannot(name, work).is_none())
            .map(|name| format!("loads by `{name}`")),
    );
    what
}

/// What this version reads of a run as a whole and does not apply, in sentences.
pub fn not_applied(run: &RunSettings) -> Vec<String> {
    let mut notes = Vec::new();
    let asked = [(run.cpus.is_some(), "`cpus` are not set apart yet")];
    notes.extend(
        asked
            .into_iter()
            .filter(|(asked, _)| *asked)
            .map(|(_, note)| note.to_owned()),
    );
    notes
}
