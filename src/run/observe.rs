//! What can be seen of a server before it is loaded: its first answer held against a second one, and what the
//! processes that serve really got of the environment and the arguments that the suite gives them.

use crate::load::{self, Job, Target, Verified};
use crate::process::{Arrived, Effective, Wanted, effective};
use crate::record::{Arrival, Observed, Serving};
use crate::server::{Server, ports};
use crate::spec::{Cell, Fill, ProcessSpec};

/// Asks once more and looks at the processes. None where the second answer fails or has another status.
pub(super) async fn observed(
    cell: &Cell,
    server: &Server,
    job: &Job,
    target: &Target,
    verified: &Verified,
) -> Option<Observed> {
    let second = load::ask(job, target).await.ok()?;
    let fill = server.fill();
    let port = target.address().port();
    let front = cell.front_process();
    let secrets: Vec<&str> = front.map(|front| secrets(front, fill)).unwrap_or_default();
    Observed::new(
        load::answer(&verified.response),
        load::answer(&second),
        port,
        &secrets,
        front.and_then(|front| serving(front, server, port)),
    )
}

fn secrets<'a>(front: &ProcessSpec, fill: &'a Fill) -> Vec<&'a str> {
    let values = front.secret.iter().filter_map(|name| fill.env.get(name));
    values
        .map(String::as_str)
        .filter(|value| !value.is_empty())
        .collect()
}

/// What the processes of the front got; none where none is left of them.
fn serving(front: &ProcessSpec, server: &Server, port: u16) -> Option<Serving> {
    let (fill, tree) = (server.fill(), server.front_pids());
    if tree.is_empty() {
        return None;
    }
    let mut variables: Vec<(String, Option<String>)> = front
        .env
        .iter()
        .filter(|(name, _)| !front.unset_env.contains(name))
        .map(|(name, value)| (name.clone(), Some(value.fill(fill))))
        .collect();
    variables.extend(front.unset_env.iter().map(|name| (name.clone(), None)));
    let words: Vec<String> = front.command.iter().map(|word| word.fill(fill)).collect();
    let ports = fill.ports.values().flatten().chain(fill.services.values());
    let mut passing = vec![fill.dir.clone(), port.to_string()];
    passing.extend(ports.map(u16::to_string));
    let wanted = Wanted {
        variables: &variables,
        words: &words,
        passing: &passing,
    };
    let Effective {
        variables,
        words_missing,
        mark,
    } = effective(&listening(&tree, port), wanted);
    Some(Serving {
        processes: server.pids().len().try_into().unwrap_or(u32::MAX),
        environment: variables.map(arrival),
        words_missing,
        mark: mark.map(|mark| format!("{mark:016x}")),
    })
}

/// Those that hold the socket on which the server listens: a wrapper that only waits for its child serves nothing. All
/// of them where the kernel does not tell.
fn listening(tree: &[u32], port: u16) -> Vec<u32> {
    let sockets = ports::listeners(port).unwrap_or_default();
    let holds = |pid: &&u32| {
        let (inodes, _) = ports::inodes_of([**pid]);
        sockets.iter().any(|socket| inodes.contains(&socket.inode))
    };
    let holders: Vec<u32> = tree.iter().filter(holds).copied().collect();
    if holders.is_empty() {
        return tree.to_vec();
    }
    holders
}

fn arrival(variables: Vec<(String, Arrived)>) -> Arrival {
    let mut arrival = Arrival::default();
    for (name, arrived) in variables {
        let names = match arrived {
            Arrived::Yes => &mut arrival.arrived,
            Arrived::Missing => &mut arrival.missing,
            Arrived::Changed => &mut arrival.changed,
        };
        names.insert(name);
    }
    arrival
}
