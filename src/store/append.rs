//! Files that grow: what is appended is there whole and synced, or not at all.

use super::StoreError;
use super::whole::{parent, sync_folder};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

/// Appends `bytes` and syncs. Where that fails the file is cut back to what it was,
/// so that the next line does not begin in the middle of a torn one.
pub(super) fn append(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let is_new = !path.exists();
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .map_err(StoreError::io("open", path))?;
    let before = file.metadata().map_err(StoreError::io("read", path))?.len();
    if let Err(source) = file.write_all(bytes).and_then(|()| file.sync_all()) {
        // Where this fails too, reading still ignores the torn end.
        let _ = file.set_len(before);
        return Err(StoreError::io("write", path)(source));
    }
    if is_new {
        sync_folder(parent(path))?;
    }
    Ok(())
}
