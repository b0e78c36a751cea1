//! Where a drive's content lives: memory, taken as sectors are written. A sector that was never written reads as zeros.

use rustix::fs::{fallocate, ftruncate, memfd_create, seek, FallocateFlags, MemfdFlags, SeekFrom};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The bytes of one drive.
#[derive(Debug)]
pub struct Backing {
    file: File,
    memory: MemoryGuard,
}

/// The machine's memory is looked at again after so many bytes were written.
const MEMORY_CHECK_BYTES: u64 = 64 << 20;
/// The part of it that stays free.
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
    /// A drive of `bytes` bytes.
    pub fn new(bytes: u64) -> Result<Self, Errno> {
        let file = File::from(memfd_create("seekwise-drive", MemfdFlags::CLOEXEC)?);
        ftruncate(&file, bytes)?;
        Ok(Self {
            file,
            memory: MemoryGuard::default(),
        })
    }

    /// Fills `data` from byte `offset` on; sectors that were never written read as zeros.
    pub fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), Errno> {
        self.file
            .read_exact_at(data, offset)
            .map_err(|error| errno(&error))
    }

    /// Writes at byte `offset`. `ENOSPC` if the machine has too little memory left.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), Errno> {
        self.memory.admit(data.len() as u64)?;
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
        self.memory.admit(bytes)?;
        fallocate(&self.file, FallocateFlags::KEEP_SIZE, offset, bytes)
    }

    /// Gives the space back; the range reads as zeros.
    pub fn discard(&mut self, offset: u64, bytes: u64) -> Result<(), Errno> {
        fallocate(
            &self.file,
            FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
            offset,
            bytes,
        )
    }
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
