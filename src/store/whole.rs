//! Files that are written whole: readers see the old one or the new one, never a
//! part, also after a crash.

use super::StoreError;
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Puts `bytes` in the place of the file at `path`: a temporary file beside it is
/// written, synced and renamed. A link is followed, and the mode of an existing
/// file is kept.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_whole_by(path, |file| file.write_all(bytes))
}

/// The same with what `write` puts into it.
pub fn write_whole_by(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), StoreError> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = parent(&target);
    let mode = fs::metadata(&target).map_or(0o666, |old| old.permissions().mode() & 0o7777);
    let mut temporary = tempfile::Builder::new()
        .prefix(".hotlap-")
        .suffix(".tmp")
        // The process's umask applies, as for any new file.
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)
        .map_err(StoreError::io("create a file in", folder))?;
    let mut buffered = BufWriter::with_capacity(1 << 16, temporary.as_file_mut());
    write(&mut buffered)
        .and_then(|()| buffered.flush())
        .and_then(|()| buffered.get_ref().sync_all())
        .map_err(StoreError::io("write", path))?;
    drop(buffered);
    temporary
        .persist(&target)
        .map_err(|error| StoreError::io("replace", path)(error.error))?;
    sync_folder(folder)
}

/// Makes the names in a folder last.
pub(super) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(StoreError::io("sync", folder))
}

/// The folder of a file; a bare name is in the current one.
pub(super) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("README.md");
        write_whole(&path, b"old and longer").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("link.md");
        std::os::unix::fs::symlink("README.md", &link).unwrap();
        write_whole(&link, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_refusal_names_the_file() {
        let error = write_whole(Path::new("/proc/none/x"), b"").unwrap_err();
        assert!(error.to_string().contains("/proc/none"), "{error}");
        assert!(!error.is_full());
    }
}
