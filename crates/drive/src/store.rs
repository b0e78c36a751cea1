//! Where the drives' content lives: a sparse file per drive in a locked folder, or memory.
//!
//! A sector that was never written takes no space and reads as zeros. What a power cut of the *drive* leaves is exactly what is
//! in the file; a power cut of the *machine* may lose more, as the file is not synchronised to the machine's own disk before the end.

use crate::lock::LockFile;
use crate::options::ServeError;
use rustix::fs::{fallocate, ftruncate, memfd_create, seek, FallocateFlags, MemfdFlags, SeekFrom};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
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

pub(crate) fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

impl Backing {
    pub fn memory(bytes: u64) -> Result<Self, Errno> {
        let file = File::from(memfd_create("seekwise-drive", MemfdFlags::CLOEXEC)?);
        ftruncate(&file, bytes)?;
        Ok(Self {
            file,
            memory: Some(MemoryGuard::default()),
        })
    }

    /// A file, made as long as the drive without taking space.
    pub fn file(path: &Path, bytes: u64) -> Result<Self, Errno> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|error| errno(&error))?;
        ftruncate(&file, bytes)?;
        Ok(Self { file, memory: None })
    }

    pub fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), Errno> {
        self.file
            .read_exact_at(data, offset)
            .map_err(|error| errno(&error))
    }

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

/// A folder of drives, locked for as long as this lives.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    _lock: LockFile,
}

impl Store {
    /// Opens or makes the store; refuses one that another server has open or that was made for other drives.
    pub fn open(folder: &Path, model: &str, sectors: u64) -> Result<Self, ServeError> {
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            ServeError::failed(format!("the store {} {what}: {error}", folder.display()))
        };
        std::fs::create_dir_all(folder).map_err(|error| failed("cannot be made", &error))?;
        let lock = LockFile::make(&folder.join("lock")).map_err(|error| match error {
            Errno::WOULDBLOCK => ServeError::refused(format!(
                "the store {} is in use by another server",
                folder.display()
            )),
            other => failed("cannot be locked", &other),
        })?;
        let label = Label {
            schema: SCHEMA.into(),
            model: model.into(),
            sectors,
        };
        let path = folder.join("store.json");
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let found: Label = serde_json::from_str(&text).map_err(|error| {
                    failed("has a label that cannot be read (store.json)", &error)
                })?;
                if found != label {
                    return Err(ServeError::refused(format!(
                        "the store {} holds drives of model {} with {} sectors, not {model} with {sectors}",
                        folder.display(),
                        found.model,
                        found.sectors
                    )));
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                // Whole or not at all: a label cut short would lock the user out of the drives.
                let fresh = folder.join("store.json.new");
                let text = serde_json::to_string(&label).expect("a label is plain data");
                std::fs::write(&fresh, text)
                    .and_then(|()| std::fs::rename(&fresh, &path))
                    .map_err(|error| failed("cannot be labelled", &error))?;
            }
            Err(error) => {
                return Err(failed(
                    "has a label that cannot be read (store.json)",
                    &error,
                ))
            }
        }
        Ok(Self {
            folder: folder.into(),
            _lock: lock,
        })
    }

    pub fn drive(&self, index: usize, bytes: u64) -> Result<Backing, ServeError> {
        let path = self.folder.join(format!("drive{index}.img"));
        Backing::file(&path, bytes).map_err(|error| {
            ServeError::failed(format!(
                "{} cannot hold a drive of {bytes} bytes: {error}",
                path.display()
            ))
        })
    }
}
