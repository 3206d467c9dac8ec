//! What can be seen of a server before it is loaded: its first answer held against a second one, and what the
//! processes that serve really got of the environment and the arguments that the suite gives them.

use crate::load::{self, Job, Target, Verified};
use crate::process::{Arrived, Effective, Wanted, effective};
use crate::record::{Arrival, Observed, Serving};
use crate::server::{self, Server, ports};
use crate::spec::{Cell, ProcessSpec, Symbol};

/// How often who serves is looked for.
const LOOKS: usize = 10;

/// Asks once more and looks at the processes. None where the second answer fails or has another status.
pub(super) async fn observed(
    cell: &Cell,
    server: &Server,
    job: &Job,
    target: &Target,
    verified: &Verified,
) -> Option<Observed> {
    let second = load::ask(job, target).await.ok()?;
    // What is reached over a Unix-domain socket has its variable PORT all the same.
    let port = server.fill().port;
    let front = cell.front_process();
    let secrets: Vec<&str> = server.secrets().iter().map(String::as_str).collect();
    Observed::new(
        load::answer(&verified.response),
        load::answer(&second),
        port,
        &secrets,
        front.and_then(|front| serving(front, server, port)),
    )
}

/// What the processes of the front got; none where they could not be found.
fn serving(front: &ProcessSpec, server: &Server, port: u16) -> Option<Serving> {
    let fill = server.fill();
    let pids = listening(server)?;
    let mut variables: Vec<(String, Option<String>)> = front
        .env
        .iter()
        .filter(|(name, _)| !front.unset_env.contains(name))
        .map(|(name, value)| (name.clone(), Some(value.fill(fill))))
        .collect();
    variables.extend(front.unset_env.iter().map(|name| (name.clone(), None)));
    let words: Vec<String> = front.command.iter().map(|word| word.fill(fill)).collect();
    let mut passing = vec![(fill.dir.clone(), "dir".to_owned())];
    let own = Symbol::Port.to_string();
    passing.push((port.to_string(), own));
    for (role, ports) in &fill.ports {
        let others = ports
            .iter()
            .enumerate()
            .filter(|(_, other)| **other != port);
        passing.extend(others.map(|(at, other)| {
            (
                other.to_string(),
                Symbol::Ports(role.clone(), at).to_string(),
            )
        }));
    }
    let services = fill.services.iter();
    passing.extend(services.map(|(name, port)| {
        (
            port.to_string(),
            Symbol::ServicePort(name.clone()).to_string(),
        )
    }));
    let wanted = Wanted {
        variables: &variables,
        words: &words,
        passing: &passing,
    };
    let Effective {
        variables,
        words_missing,
        mark,
    } = effective(&pids, wanted);
    Some(Serving {
        processes: server.pids().len().try_into().unwrap_or(u32::MAX),
        environment: variables.map(arrival),
        words_missing,
        mark: mark.map(|mark| format!("{mark:016x}")),
    })
}

/// Those that hold the socket on which the server listens: a wrapper that only waits for its child serves nothing. All
/// of the tree where the kernel does not let us look. A busy machine's lists of children may lack one, so that none is
/// found at first; none at all is no ground for a judgement.
fn listening(server: &Server) -> Option<Vec<u32>> {
    (0..LOOKS).find_map(|_| {
        let tree = server.front_pids();
        let sockets = server::listeners(&server.address);
        let (mut holders, mut readable) = (Vec::new(), true);
        for pid in &tree {
            let (inodes, complete) = ports::inodes_of([*pid]);
            readable &= complete;
            if sockets.iter().any(|socket| inodes.contains(socket)) {
                holders.push(*pid);
            }
        }
        match (holders.is_empty(), readable) {
            (false, _) => Some(holders),
            (true, false) => Some(tree),
            (true, true) => None,
        }
    })
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
