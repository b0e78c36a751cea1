//! A lock file that one server holds: of its store, of its folder of sockets.

use std::fs::{File, OpenOptions};
use std::path::Path;

use rustix::fs::{flock, FlockOperation};
use rustix::io::Errno;

/// Held for as long as this lives.
#[derive(Debug)]
pub struct LockFile(File);

impl LockFile {
    /// Makes the file and locks it; `WOULDBLOCK` where another holds it.
    pub fn make(path: &Path) -> Result<Self, Errno> {
        Self::take(
            OpenOptions::new().write(true).create(true).truncate(false),
            path,
        )
    }

    /// Locks a file that is there already.
    pub fn of_existing(path: &Path) -> Result<Self, Errno> {
        Self::take(OpenOptions::new().write(true), path)
    }

    fn take(options: &OpenOptions, path: &Path) -> Result<Self, Errno> {
        let file = options
            .open(path)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
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
        let path = folder.path().join("lock");
        let held = LockFile::make(&path).unwrap();
        assert_eq!(LockFile::make(&path).unwrap_err(), Errno::WOULDBLOCK);
        let copy = held.0.try_clone().unwrap();
        drop(held);
        LockFile::of_existing(&path).unwrap();
        drop(copy);
    }
}
