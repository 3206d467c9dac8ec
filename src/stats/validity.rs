//! Whether the figures of one trial may count: the laws that any honest load obeys. Each law that
//! is broken is a sentence for the report.

use super::figures::percent;
use crate::record::{Counts, ErrorKind, Load, Observed, Timing};
use crate::spec::LoadSpec;
use crate::units::{show_duration, show_number};
use std::time::Duration;

/// Bounds of Little's law: the share of connection time that requests account for.
const LITTLE: (f64, f64) = (0.90, 1.02);
/// The lower bound for the built-in generator, which is late where it has too little of a processor: with less than
/// [`LITTLE`]'s its figure is a bound, and with less than this none.
const LITTLE_LOW_OWN: f64 = 0.75;
/// The lower bound for a fixed number of requests: connections whose part is done wait for the
/// slowest one, rightly idle.
const LITTLE_LOW_BY_COUNT: f64 = 0.50;
/// Below so many requests a connection the first and the last ones outweigh the law.
const LITTLE_EACH: u64 = 10;
/// And below so many at all.
const LITTLE_ALL: u64 = 100;
/// So long in each round a connection may be idle because the machine did something else: one pause of a busy machine is most of
/// a phase of a few milliseconds, and nothing in one of seconds.
const LITTLE_PAUSE: Duration = Duration::from_millis(50);
/// A window may miss its plan by this share,
const WINDOW_SHARE: f64 = 0.01;
/// or by this time, whichever is longer.
const WINDOW_SLACK: Duration = Duration::from_millis(50);
/// Another generator may round a duration up by less than this.
const WHOLE_SECOND: Duration = Duration::from_secs(1);

/// Why the figures of a closed-loop trial must not be compared, a sentence each; empty where they
/// may. `max_errors` is a share of one. Checked are:
///
/// - conservation ([`Counts::check`]), and that the kinds of error are not more than the errors;
/// - that something succeeded, and that the share of errors among finished requests is within
///   `max_errors`; kinds, statuses and the beginning are named;
/// - that this machine had ports and descriptors enough: a single such failure is one too many;
/// - that no connection had bytes left over that nothing asked for, since a server that answers twice would be
///   counted twice;
/// - that a load by a number of requests made them all;
/// - that at the end no more requests were without an outcome than there are connections to have one each;
/// - where another generator made the load, and one body is expected, that so many of them were read;
/// - the window against the planned duration, of all rounds together: not shorter, nor longer than the time-out allows for
///   the drain, by more than 1 % or 50 ms; another generator may round the duration and the time-out up to whole seconds;
/// - Little's law (of an open loop its upper bound), where at least 10 requests a connection (and 100 in all) finished in each round: the time that requests
///   and reconnects took, over connections × window, is within 0.90 and 1.02. The lower bound
///   takes the planned duration for the window, since connections are rightly idle while the last
///   responses are waited for; for a fixed number of requests it is 0.50, and for the built-in generator 0.75, above which
///   its figure is a bound ([`super::limit`]). Below it may be 50 ms a connection and round.
pub fn validity(load: &Load, work: &LoadSpec, max_errors: f64) -> Vec<String> {
    let mut reasons = Vec::new();
    reasons.extend(conservation(load));
    reasons.extend(own_limits(load));
    reasons.extend(surplus(load));
    reasons.extend(unsent(load, work));
    reasons.extend(lost(load, work));
    reasons.extend(unread(load, work));
    let errors = errors(load, work, max_errors);
    let errors_fit = errors.is_none();
    reasons.extend(errors);
    // Where most requests fail, the laws of time say nothing that the errors have not said.
    if errors_fit {
        reasons.extend(window(load, work));
        reasons.extend(little(load, work));
    }
    reasons
}

fn conservation(load: &Load) -> Option<String> {
    if let Err(broken) = load.counts.check().and_then(|()| load.check_shares()) {
        return Some(broken);
    }
    let by_kind: u64 = load.errors.values().sum();
    let errors = load.counts.errors();
    (by_kind > errors)
        .then(|| format!("conservation: {by_kind} errors by kind, but {errors} requests failed"))
}

fn own_limits(load: &Load) -> Vec<String> {
    let times = |kind| load.errors.get(&kind).copied().filter(|times| *times > 0);
    let ports = times(ErrorKind::NoLocalPort).map(|times| {
        format!(
            "this machine had no local port left for {times} connections, which is the generator's limit \
             and not the server's: keep connections alive, send fewer requests, or widen \
             net.ipv4.ip_local_port_range"
        )
    });
    let descriptors = times(ErrorKind::NoDescriptor).map(|times| {
        format!(
            "the generator had no descriptor left for {times} connections, which is this machine's limit \
             and not the server's: raise the limit of open files (ulimit -n) or use fewer connections"
        )
    });
    ports.into_iter().chain(descriptors).collect()
}

fn surplus(load: &Load) -> Option<String> {
    let connections = &load.connections;
    (connections.surplus > 0).then(|| {
        format!(
            "the server sends more than it is asked for: on {} of {} connections bytes came after the last \
             response, so responses were counted for requests that they do not answer",
            connections.surplus, connections.wanted
        )
    })
}

/// A load by a number of requests that did not make them all.
fn unsent(load: &Load, work: &LoadSpec) -> Option<String> {
    let Counts {
        planned,
        sent,
        unsent,
        ..
    } = load.counts;
    let by_number = work.ends().is_none();
    (by_number && unsent > 0).then(|| format!("only {sent} of {planned} requests were sent"))
}

/// A connection of a closed loop has one request at a time, or as many as it is to send ahead.
fn lost(load: &Load, work: &LoadSpec) -> Option<String> {
    let rounds = load.rounds.len().max(1) as u64;
    let (open, wanted) = (load.counts.unfinished, load.connections.wanted);
    let each = work.in_flight() / u64::from(work.connections.max(1));
    (wanted > 0 && open > wanted * each * rounds).then(|| {
        let each = if rounds > 1 { " each round" } else { "" };
        format!(
            "{open} of {} requests sent have no outcome, which is more than the {wanted} connections can have \
             open{each}; a server that closes connections loses requests of generators that do not look",
            load.counts.sent
        )
    })
}

/// A generator that looks at no body may count one that was cut short.
fn unread(load: &Load, work: &LoadSpec) -> Option<String> {
    work.expect.body.as_ref()?;
    short_of(load, 0.0)
}

/// The same where the suite expects no certain body, but two answers before the load had the same one: of
/// their bytes a share of `max_errors` may be missing. None where nothing speaks against the load.
pub fn cut_short(
    load: &Load,
    work: &LoadSpec,
    observed: Option<&Observed>,
    max_errors: f64,
) -> Option<String> {
    let same_twice = observed?.body_sha256.is_some();
    if work.expect.body.is_some() || !same_twice {
        return None;
    }
    short_of(load, max_errors)
}

/// That fewer bytes were read than so many bodies have. The built-in generator looks at each body itself.
fn short_of(load: &Load, share: f64) -> Option<String> {
    if load.service.is_some() {
        return None;
    }
    let least = load.counts.succeeded * load.bytes.body_wire?;
    let read = load.bytes.body.unwrap_or(load.bytes.received);
    ((read as f64) < least as f64 * (1.0 - share)).then(|| {
        format!(
            "{} says that {} answers were whole, but read {read} bytes, where their bodies alone have {least}",
            load.generator, load.counts.succeeded
        )
    })
}

fn errors(load: &Load, work: &LoadSpec, max_errors: f64) -> Option<String> {
    let counts = &load.counts;
    if counts.sent == 0 {
        return Some("no request was sent".to_owned());
    }
    let finished = counts.succeeded + counts.errors();
    let share = counts.error_share().unwrap_or(0.0);
    if counts.succeeded > 0 && share <= max_errors {
        return None;
    }
    let mut parts = Vec::new();
    if counts.succeeded == 0 {
        parts.push(none_succeeded(counts));
    } else {
        parts.push(format!(
            "{} of requests failed ({} of {finished}; the limit is {} %)",
            percent(counts.errors(), finished),
            counts.errors(),
            // As the suite has it: no digits that nobody wrote.
            (max_errors * 1e6).round() / 1e4,
        ));
    }
    parts.extend(wrong_statuses(load, &work.statuses()));
    parts.extend(only_of(load));
    parts.extend(kinds(load));
    parts.extend(began(load));
    Some(parts.join("; "))
}

fn none_succeeded(counts: &Counts) -> String {
    let open = match counts.unfinished {
        0 => String::new(),
        open => format!(", {open} were unfinished at the end"),
    };
    format!("no request succeeded of {} sent{open}", counts.sent)
}

/// `100 % of answers were 404, expected 200`.
fn wrong_statuses(load: &Load, expected: &[u16]) -> Option<String> {
    let answers: u64 = load.statuses.values().sum();
    let mut wrong: Vec<(u16, u64)> = load
        .statuses
        .iter()
        .map(|(status, times)| (*status, *times))
        .filter(|(status, times)| !expected.contains(status) && *times > 0)
        .collect();
    if wrong.is_empty() {
        return None;
    }
    wrong.sort_by_key(|(status, times)| (std::cmp::Reverse(*times), *status));
    let listed: Vec<String> = wrong
        .iter()
        .map(|(status, times)| format!("{} of answers were {status}", percent(*times, answers)))
        .collect();
    let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
    Some(format!(
        "{}, expected {}",
        listed.join(", "),
        expected.join(" or ")
    ))
}

/// Which requests of a mix failed, the most frequent failures first.
fn only_of(load: &Load) -> Option<String> {
    let mut failing: Vec<(&str, u64, u64)> = load
        .shares
        .iter()
        .map(|share| {
            (
                share.name.as_str(),
                share.counts.errors(),
                share.counts.sent,
            )
        })
        .filter(|(_, errors, _)| *errors > 0)
        .collect();
    failing.sort_by_key(|(_, errors, _)| std::cmp::Reverse(*errors));
    let listed: Vec<String> = failing
        .iter()
        .take(3)
        .map(|(name, errors, sent)| format!("{errors} of {sent} {name}"))
        .collect();
    let more = failing.len() - listed.len();
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} other requests"),
    };
    (!listed.is_empty()).then(|| format!("of the mix failed {}{more}", listed.join(", ")))
}

/// `812 unexpected status, 13 short body`, most frequent first, an example of the first one.
fn kinds(load: &Load) -> Option<String> {
    let mut kinds: Vec<(ErrorKind, u64)> = load
        .errors
        .iter()
        .map(|(kind, times)| (*kind, *times))
        .filter(|(_, times)| *times > 0)
        .collect();
    kinds.sort_by_key(|(kind, times)| (std::cmp::Reverse(*times), *kind));
    let most = kinds.first()?.0;
    let listed: Vec<String> = kinds
        .iter()
        .map(|(kind, times)| format!("{times} × {}", kind.words()))
        .collect();
    let example = load
        .error_examples
        .get(&most)
        .map_or_else(String::new, |text| format!(" (such as: {text})"));
    Some(format!("{}{example}", listed.join(", ")))
}

fn began(load: &Load) -> Option<String> {
    let after = show_duration(Duration::from_nanos(load.first_error_ns?));
    Some(format!("the first error came {after} into the load"))
}

fn window(load: &Load, work: &LoadSpec) -> Option<String> {
    let Some(planned) = work.ends() else {
        return (load.window_ns == 0).then(|| "the measured phase took no time".to_owned());
    };
    let rounds = rounds(load);
    let planned = planned * rounds;
    let slack = planned.mul_f64(WINDOW_SHARE).max(WINDOW_SLACK * rounds);
    let window = Duration::from_nanos(load.window_ns);
    // Other generators know whole seconds only, and take the next one; of a time-out too.
    let up = if load.is_built_in() {
        Duration::ZERO
    } else {
        2 * WHOLE_SECOND * rounds
    };
    let fits = window + slack >= planned && window <= planned + work.timeout * rounds + slack + up;
    (!fits).then(|| {
        format!(
            "the measured phase took {}, but {} was planned",
            show_duration(window),
            show_duration(planned)
        )
    })
}

/// How many measured phases a load is made of.
fn rounds(load: &Load) -> u32 {
    u32::try_from(load.rounds.len()).unwrap_or(u32::MAX).max(1)
}

fn little(load: &Load, work: &LoadSpec) -> Option<String> {
    let finished = load.counts.succeeded + load.counts.errors();
    let places = work.in_flight();
    if finished < enough_for_little(load, work) || load.window_ns == 0 {
        return None;
    }
    let busy = busy_ns(load)?;
    let whole = places as f64 * load.window_ns as f64;
    let (least, low) = match work.ends() {
        // The connections of an open loop wait for requests, rightly.
        _ if load.open.is_some() => (0.0, 0.0),
        Some(_) => {
            let low = if load.is_built_in() {
                LITTLE_LOW_OWN
            } else {
                LITTLE.0
            };
            (low * until_planned(load, work), low)
        }
        None => (LITTLE_LOW_BY_COUNT * whole, LITTLE_LOW_BY_COUNT),
    };
    let paused = places as f64 * (LITTLE_PAUSE * rounds(load)).as_nanos() as f64;
    if busy + unconnected_ns(load, work) + paused >= least && busy <= LITTLE.1 * whole {
        return None;
    }
    Some(format!(
        "the figures contradict each other (Little's law): {finished} requests at their mean latency \
         would fill {} × the time of {}, where {} to {} is possible",
        show_number(busy / whole, 3),
        places_in_words(work),
        show_number(low, 2),
        show_number(LITTLE.1, 3),
    ))
}

/// The time of all connections, but for what the last responses took beyond the planned duration.
fn until_planned(load: &Load, work: &LoadSpec) -> f64 {
    let window = match work.ends() {
        Some(planned) => (load.window_ns as f64).min((planned * rounds(load)).as_nanos() as f64),
        None => load.window_ns as f64,
    };
    work.in_flight() as f64 * window
}

/// Where requests can be in flight.
fn places_in_words(work: &LoadSpec) -> String {
    let connections = u64::from(work.connections);
    let all = work.in_flight();
    if all == connections {
        return format!("{connections} connections");
    }
    format!(
        "{connections} connections with {} requests in flight each",
        all / connections.max(1)
    )
}

/// Whether the connections of the built-in generator's closed loop by time were idle for more than a tenth of it: the
/// generator was late with its requests, and the server could have done more. Judged where Little's law is.
pub(super) fn idle(load: &Load, work: &LoadSpec) -> bool {
    let judged = load.is_built_in()
        && work.ends().is_some()
        && load.counts.succeeded + load.counts.errors() >= enough_for_little(load, work);
    let busy = busy_ns(load).filter(|_| judged && load.window_ns > 0);
    busy.is_some_and(|busy| {
        busy + unconnected_ns(load, work) < LITTLE.0 * until_planned(load, work)
    })
}

/// The time that requests and reconnects took as a share of the time of all connections until the planned end: what Little's
/// law is about. None where it is not judged, since requests are too few or the generator tells no mean.
pub fn busy_share(load: &Load, work: &LoadSpec) -> Option<f64> {
    let finished = load.counts.succeeded + load.counts.errors();
    let whole = until_planned(load, work);
    let judged = finished >= enough_for_little(load, work) && whole > 0.0;
    Some(busy_ns(load).filter(|_| judged)? / whole)
}

/// Below so many requests the first and the last ones outweigh the law.
fn enough_for_little(load: &Load, work: &LoadSpec) -> u64 {
    (LITTLE_EACH * work.in_flight()).max(LITTLE_ALL) * u64::from(rounds(load))
}

/// The time that connections were not idle: requests of every end, and connecting anew. None
/// where the generator tells no mean.
fn busy_ns(load: &Load) -> Option<f64> {
    let Some(service) = &load.service else {
        return told_ns(load);
    };
    let succeeded = service.mean_ns? * load.counts.succeeded as f64;
    let failed = load
        .service_failed
        .as_ref()
        .and_then(|failed| Some(failed.mean_ns? * failed.count as f64))
        .unwrap_or(0.0);
    let unfinished: f64 = load.unfinished_ages_ns.iter().map(|age| *age as f64).sum();
    Some(succeeded + failed + unfinished + connecting_ns(load))
}

/// The same by what another generator timed. None where it timed nothing, or something else.
fn told_ns(load: &Load) -> Option<f64> {
    let told = load.told.as_ref().filter(|told| !told.mean_derived)?;
    match told.timing {
        Timing::Service | Timing::WithConnect => Some(told.mean_ns? * told.count as f64),
        Timing::Corrected | Timing::WholeMilliseconds => None,
    }
}

/// The most time that connections which could not be had may have taken, each with the pause after it. No record tells it
/// exactly.
fn unconnected_ns(load: &Load, work: &LoadSpec) -> f64 {
    /// The longest pause of the built-in generator after a failed connect.
    const PAUSE: Duration = Duration::from_millis(100);
    let of = |(kind, count): (&ErrorKind, &u64)| {
        let each = match kind {
            ErrorKind::ConnectTimeout | ErrorKind::Tls => work.timeout + PAUSE,
            kind if kind.is_of_connecting() => PAUSE,
            _ => Duration::ZERO,
        };
        each.as_nanos() as f64 * *count as f64
    };
    load.errors.iter().map(of).sum()
}

/// The time that requests waited for a new connection. A generator that does not tell it has
/// at least a mean, of all connections it opened.
fn connecting_ns(load: &Load) -> f64 {
    let mean = load.connect.as_ref().and_then(|connect| connect.mean_ns);
    load.connecting_ns.map_or_else(
        || mean.unwrap_or(0.0) * load.connections.reconnects as f64,
        |sum| sum as f64,
    )
}

#[cfg(test)]
#[path = "validity_tests.rs"]
mod tests;
