//! A lock file that one server holds: of its store, of its folder of sockets.

use crate::files::FolderEntry;
use std::fs::File;

use rustix::fs::{flock, FlockOperation};
use rustix::io::Errno;

/// Held for as long as this lives.
#[derive(Debug)]
pub struct LockFile(File);

impl LockFile {
    /// Makes the file and locks it; `WOULDBLOCK` where another holds it.
    pub fn make(place: &FolderEntry) -> Result<Self, Errno> {
        Self::take(place.kept()?)
    }

    /// Locks a file that is there already.
    pub fn of_existing(place: &FolderEntry) -> Result<Self, Errno> {
        Self::take(place.existing()?)
    }

    fn take(file: File) -> Result<Self, Errno> {
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self(file))
    }
}

impl Drop for LockFile {
    // To close the file is not enough: a child that another thread has just forked holds a copy of it until it
    // executes its program, and the lock lives as long as any copy.
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_file_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = FolderEntry::new(&folder.path().join("lock")).unwrap();
        let held = LockFile::make(&path).unwrap();
        assert_eq!(LockFile::make(&path).unwrap_err(), Errno::WOULDBLOCK);
        let copy = held.0.try_clone().unwrap();
        drop(held);
        LockFile::of_existing(&path).unwrap();
        drop(copy);
    }
}
