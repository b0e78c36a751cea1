//! Where the drives' content lives: a sparse file per drive in a locked folder, or memory.
//!
//! A sector that was never written takes no space and reads as zeros. What a power cut of the *drive* leaves is exactly what is
//! in the file; a power cut of the *machine* may lose more, as the file is not synchronised to the machine's own disk before the end.

use crate::files::{self, errno, said, FolderEntry};
use crate::lock::LockFile;
use crate::options::ServeError;
use rustix::fd::OwnedFd;
use rustix::fs::{fallocate, ftruncate, memfd_create, seek, FallocateFlags, MemfdFlags, SeekFrom};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The bytes of one drive.
#[derive(Debug)]
pub struct Backing {
    file: File,
    memory: Option<MemoryGuard>,
}

/// The machine's memory is looked at again after so many bytes were written.
const MEMORY_CHECK_BYTES: u64 = 64 << 20;
/// So much of it stays free.
const MEMORY_FREE_KIB: u64 = 256 << 10;

/// Refuses writes before the machine runs out of memory, as a full file system would.
#[derive(Debug, Default)]
struct MemoryGuard {
    unchecked: u64,
    full: bool,
}

impl MemoryGuard {
    fn admit(&mut self, bytes: u64) -> Result<(), Errno> {
        self.unchecked += bytes;
        if self.full || self.unchecked >= MEMORY_CHECK_BYTES {
            self.unchecked = 0;
            self.full = available_kib().is_some_and(|available| available < MEMORY_FREE_KIB);
        }
        if self.full {
            Err(Errno::NOSPC)
        } else {
            Ok(())
        }
    }
}

fn available_kib() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

impl Backing {
    /// A drive of `bytes` bytes in memory, taken only as sectors are written.
    pub fn memory(bytes: u64) -> Result<Self, Errno> {
        let file = File::from(memfd_create("seekwise-drive", MemfdFlags::CLOEXEC)?);
        ftruncate(&file, bytes)?;
        Ok(Self {
            file,
            memory: Some(MemoryGuard::default()),
        })
    }

    /// A file, made as long as the drive without taking space.
    pub fn file(place: &FolderEntry, bytes: u64) -> Result<Self, Errno> {
        let file = place.kept()?;
        ftruncate(&file, bytes)?;
        Ok(Self { file, memory: None })
    }

    /// Fills `data` from byte `offset` on; sectors that were never written read as zeros.
    pub fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), Errno> {
        self.file
            .read_exact_at(data, offset)
            .map_err(|error| errno(&error))
    }

    /// Writes at byte `offset`. `ENOSPC` if it is in memory and the machine has too little left.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), Errno> {
        if let Some(memory) = &mut self.memory {
            memory.admit(data.len() as u64)?;
        }
        self.file
            .write_all_at(data, offset)
            .map_err(|error| errno(&error))
    }

    /// Whether the range takes no space, so that it reads as zeros.
    pub fn is_hole(&self, offset: u64, bytes: u64) -> bool {
        match seek(&self.file, SeekFrom::Data(offset)) {
            Ok(next) => next >= offset + bytes,
            // No data behind `offset`; whatever else fails has not been looked at.
            Err(error) => error == Errno::NXIO,
        }
    }

    /// Takes the space that a later write needs, so that the later write cannot fail for want of it.
    pub fn reserve(&mut self, offset: u64, bytes: u64) -> Result<(), Errno> {
        if let Some(memory) = &mut self.memory {
            memory.admit(bytes)?;
        }
        match fallocate(&self.file, FallocateFlags::KEEP_SIZE, offset, bytes) {
            // Some network file systems cannot; the later write then reports what it meets.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            other => other,
        }
    }

    /// Gives the space back; the range reads as zeros.
    pub fn discard(&mut self, offset: u64, bytes: u64) -> Result<(), Errno> {
        let punched = fallocate(
            &self.file,
            FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
            offset,
            bytes,
        );
        if !matches!(punched, Err(Errno::OPNOTSUPP | Errno::NOSYS)) {
            return punched;
        }
        let zeros = vec![0; bytes.min(1 << 20) as usize];
        let mut at = offset;
        while at < offset + bytes {
            let length = (offset + bytes - at).min(zeros.len() as u64);
            self.write(at, &zeros[..length as usize])?;
            at += length;
        }
        Ok(())
    }

    /// To the machine's own disk, at the end.
    pub fn synchronise(&self) -> Result<(), Errno> {
        self.file.sync_data().map_err(|error| errno(&error))
    }
}

/// What stands beside the drives' files: which drives they belong to.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Label {
    schema: String,
    model: String,
    sectors: u64,
}

const SCHEMA: &str = "seekwise.drive-store/1";

/// The most that is read of a label.
const LABEL_BYTES_MAX: u64 = 64 << 10;

/// A folder of drives, locked for as long as this lives.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    folder: OwnedFd,
    _lock: LockFile,
}

impl Store {
    /// Opens or makes the store; refuses one that another server has open or that was made for other drives.
    pub fn open(path: &Path, model: &str, sectors: u64) -> Result<Self, ServeError> {
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            ServeError::failed(format!("the store {} {what}: {error}", path.display()))
        };
        let folder =
            files::make_folder(path).map_err(|error| failed("cannot be made", &said(error)))?;
        let lock = FolderEntry::beside(&folder, "lock")
            .and_then(|place| LockFile::make(&place))
            .map_err(|error| match error {
                Errno::WOULDBLOCK => ServeError::refused(format!(
                    "the store {} is in use by another server",
                    path.display()
                )),
                other => failed("cannot be locked", &said(other)),
            })?;
        let label = Label {
            schema: SCHEMA.into(),
            model: model.into(),
            sectors,
        };
        let unreadable = "has a label that cannot be read (store.json)";
        let place = FolderEntry::beside(&folder, "store.json")
            .map_err(|error| failed(unreadable, &said(error)))?;
        match place.existing() {
            Ok(file) => {
                let mut text = String::new();
                file.take(LABEL_BYTES_MAX)
                    .read_to_string(&mut text)
                    .map_err(|error| failed(unreadable, &error))?;
                let found: Label =
                    serde_json::from_str(&text).map_err(|error| failed(unreadable, &error))?;
                if found != label {
                    return Err(ServeError::refused(format!(
                        "the store {} holds drives of model {} with {} sectors, not {model} with {sectors}",
                        path.display(),
                        found.model,
                        found.sectors
                    )));
                }
            }
            Err(Errno::NOENT) => {
                // Whole or not at all: a label cut short would lock the user out of the drives.
                let text = serde_json::to_string(&label).expect("a label is plain data");
                place
                    .write_whole(&text)
                    .map_err(|error| failed("cannot be labelled", &said(error)))?;
            }
            Err(error) => return Err(failed(unreadable, &said(error))),
        }
        Ok(Self {
            path: path.into(),
            folder,
            _lock: lock,
        })
    }

    /// The file of the drive numbered `index`, made with `bytes` bytes if it does not exist yet.
    pub fn drive(&self, index: usize, bytes: u64) -> Result<Backing, ServeError> {
        let name = format!("drive{index}.img");
        FolderEntry::beside(&self.folder, &name)
            .and_then(|place| Backing::file(&place, bytes))
            .map_err(|error| {
                ServeError::failed(format!(
                    "{} cannot hold a drive of {bytes} bytes: {}",
                    self.path.join(&name).display(),
                    said(error)
                ))
            })
    }
}
