//! What the figures of a cell look like, said as a person would explain it, with what to do about
//! it. `stats` finds the likeness in single trials; here those of a cell are one sentence.

use super::show;
use crate::stats::{CellSummary, Hint, hints};
use crate::units::{show_bytes, show_duration, show_number};
use std::mem::Discriminant;

/// Every hint of a cell's valid trials; one that several have is said once, as it was strongest.
pub(super) fn sentences(cell: &CellSummary<'_>) -> Vec<String> {
    let mut found: Vec<(Hint, usize)> = Vec::new();
    for hint in cell.valid().flat_map(|trial| hints(trial, &cell.cell.work)) {
        match found
            .iter_mut()
            .find(|(known, _)| kind(known) == kind(&hint))
        {
            Some((known, times)) => {
                *times += 1;
                if strength(&hint) > strength(known) {
                    *known = hint;
                }
            }
            None => found.push((hint, 1)),
        }
    }
    let told = |(hint, _): &(Hint, usize)| matches!(hint, Hint::Reconnects { .. });
    let closes = if found.iter().any(told) {
        None
    } else {
        closes(cell)
    };
    let all = show::plural(cell.valid().count(), "valid trial");
    let sentence =
        |(hint, times): (Hint, usize)| said(&hint, &format!("in {times} of {all}"), cell);
    found.into_iter().map(sentence).chain(closes).collect()
}

/// Hints of one kind are one; of several roles each has its own.
fn kind(hint: &Hint) -> (Discriminant<Hint>, Option<&str>) {
    let role = match hint {
        Hint::OneWorker { role, .. } | Hint::Loud { role, .. } => Some(role.as_str()),
        _ => None,
    };
    (std::mem::discriminant(hint), role)
}

fn strength(hint: &Hint) -> f64 {
    match hint {
        Hint::DelayedAck => 0.0,
        Hint::SynRetries {
            connects,
            responses,
        } => (connects + responses) as f64,
        Hint::Reconnects { share }
        | Hint::OneWorker { share, .. }
        | Hint::HeavySampler { share } => *share,
        Hint::Loud { rate, .. } => *rate,
        Hint::SlowStart { after } => after.as_secs_f64(),
    }
}

fn said(hint: &Hint, among: &str, cell: &CellSummary<'_>) -> String {
    match hint {
        Hint::DelayedAck => format!(
            "Most responses took about 40 ms {among}, as with a delayed acknowledgement: so long a client waits before it \
             acknowledges a part of a response, and a server that writes head and body apart waits for that before it sends the rest. \
             Set TCP_NODELAY in the server, or write both at once; the figures tell of this timer and not of its work."
        ),
        Hint::SynRetries {
            connects,
            responses,
        } => syn_retries(*connects, *responses, among),
        Hint::Reconnects { share } => format!(
            "The server closes connections that were to be kept {among}: up to {} reconnects per 100 requests, so that \
             its throughput includes the set-up of connections. Let the server keep them, or ask with keep_alive = false \
             for a new one each time, of all servers alike.",
            percent(*share)
        ),
        Hint::OneWorker {
            role,
            workers,
            share,
        } => format!(
            "One process did nearly all of the work {among}: of {workers} that stand beside each other in {role}, one had up to \
             {} % of their CPU time. Where they are workers of one server, more connections may spread the load; else \
             look at how the workers share the listening socket. Then the figures are those of one worker.",
            percent(*share)
        ),
        Hint::Loud { role, rate } => format!(
            "{role} printed up to {}/s while it was measured {among}: that work, and writing the log to disk, is a part \
             of its figures. Turn its request log off, or compare it with servers that log alike.",
            show_bytes(*rate)
        ),
        Hint::SlowStart { after } => format!(
            "The first good answer came only after {} {among}. ready.timeout ({} here) has to leave room for that on a slower \
             machine too; and what a server still does when it answers for the first time, such as compiling or filling \
             caches, may reach into the first figures: a longer warm-up keeps it out.",
            show_duration(*after),
            show_duration(cell.cell.ready.timeout)
        ),
        Hint::HeavySampler { share } => format!(
            "Reading the memory and CPU time of its processes took up to {} % of one CPU {among}, which the server may have \
             lacked. A longer sample_interval costs less.",
            percent(*share)
        ),
    }
}

/// Connections that came anew, too few of them for a hint.
fn closes(cell: &CellSummary<'_>) -> Option<String> {
    let loads = || cell.valid().filter_map(|trial| trial.load.as_ref());
    let closed: u64 = loads()
        .map(|load| load.connections.closed_by_server + load.connections.retried)
        .sum();
    let anew: u64 = loads().map(|load| load.connections.reconnects).sum();
    if closed > 0 {
        return Some(format!(
            "The server closes connections: {} responses in all were the last of theirs; {} connections were opened anew, which its figures include.",
            show::count(closed as f64),
            show::count(anew as f64)
        ));
    }
    (anew > 0).then(|| {
        format!(
            "{} connections were opened anew under load.",
            show::count(anew as f64)
        )
    })
}

fn syn_retries(connects: u64, responses: u64, among: &str) -> String {
    let what: Vec<String> = [(connects, "connect"), (responses, "response")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, one)| format!("up to {}", show::plural(number as usize, one)))
        .collect();
    format!(
        "{} took about 1 s or 3 s {among}, far more than took a little less or a little more: so long the kernel waits \
         after a lost SYN before it sends that first packet of a connection again, and one is lost where the server's accept \
         queue is full. The highest latencies then tell of this timer and not of the server. Give its listen call a longer \
         backlog (and the machine a larger net.core.somaxconn), or open fewer connections at once.",
        capital(&what.join(" and "))
    )
}

/// A share of one in hundredths, as a number.
fn percent(share: f64) -> String {
    show_number(share * 100.0, 3)
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
