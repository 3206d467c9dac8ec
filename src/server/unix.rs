//! Who listens on a Unix-domain socket: the kernel's table of them, by path.

use super::ports;
use super::readiness::Foreign;
use crate::record::Proof;
use crate::spec::Address;
use std::fs;
use std::path::Path;

/// The inodes of the sockets that listen at a path, as it was given to the kernel; none where the table can't be read.
pub(super) fn listeners(path: &Path) -> Option<Vec<u64>> {
    let table = fs::read("/proc/net/unix").ok()?;
    Some(parse(&String::from_utf8_lossy(&table), path))
}

fn parse(table: &str, path: &Path) -> Vec<u64> {
    /// The flag of one that was told to listen.
    const LISTENS: u32 = 1 << 16;
    let wanted = path.to_string_lossy();
    // Num: RefCount Protocol Flags Type St Inode Path, each with spaces before it, and of the path all that follows one.
    let of = |line: &str| {
        let (mut rest, mut fields) = (line, [""; 7]);
        for field in &mut fields {
            rest = rest.trim_start();
            let end = rest.find(' ')?;
            (*field, rest) = rest.split_at(end);
        }
        let flags = u32::from_str_radix(fields[3], 16).ok()?;
        let is_it = flags & LISTENS != 0 && rest[1..] == *wanted;
        is_it.then(|| fields[6].parse().ok())?
    };
    table.lines().skip(1).filter_map(of).collect()
}

/// That those who listen at a path are ours. A socket that was bound by another name of the same file is not found, and proves
/// nothing.
pub(super) fn look(path: &Path, pids: &impl Fn() -> Vec<u32>) -> Result<Proof, Foreign> {
    let Some(found) = listeners(path).filter(|found| !found.is_empty()) else {
        return Ok(Proof::Unproved);
    };
    let (ours, _) = ports::inodes_of(pids());
    // A socket whose file was replaced listens on, and nobody reaches it any more.
    if found.iter().any(|inode| ours.contains(inode)) {
        return Ok(Proof::Proved);
    }
    match found.iter().find_map(|inode| ports::holder(*inode)) {
        None => Ok(Proof::Unproved),
        Some((pid, _)) if pids().contains(&pid) => Ok(Proof::Proved),
        holder => Err(Foreign {
            address: Address::Unix(path.to_owned()),
            holder,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::{UnixListener, UnixStream};

    #[test]
    fn who_listens_at_a_path_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a socket");
        assert_eq!(listeners(&path), Some(Vec::new()));
        let listener = UnixListener::bind(&path).unwrap();
        let _client = UnixStream::connect(&path).unwrap();
        let _accepted = listener.accept().unwrap();
        assert_eq!(listeners(&path).unwrap().len(), 1);
        let own = std::process::id();
        assert_eq!(look(&path, &|| vec![own]).unwrap(), Proof::Proved);
        let foreign = look(&path, &Vec::new).unwrap_err();
        assert_eq!(foreign.holder.unwrap().0, own);
    }

    #[test]
    fn the_table_is_read_as_the_kernel_writes_it() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/a b\n0000000000000000: 00000003 00000000 00000000 0001 03   678 /run/a b\n0000000000000000: 00000002 00000000 00010000 0001 01     9\n";
        assert_eq!(parse(table, Path::new("/run/a b")), [12345]);
        assert!(parse(table, Path::new("/run/a")).is_empty());
    }
}
