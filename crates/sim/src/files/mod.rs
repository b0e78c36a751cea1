//! Programs that read and write files: page cache, write-back, journal and processors above the volume.
//!
//! ```text
//!   program ──write──▶ page cache ──flusher, throttled writer, fsync──▶ volume        readers: reader.rs   writers: writer.rs
//!           ──read───▶     ▲   └──journal commit (ordered data, log)──▶   │           passes:  pass.rs     commits: commit.rs
//!                          └────────────── read-ahead ◀───────────────────┘           flusher: flusher.rs
//! ```
//!
//! Tasks run one step after the other on the processors; a step ends when its task has to wait, when a drive or a sleeping task is due,
//! or after a millisecond when others want the processor.
//!
//! Modelled:      what the files of `seekwise_host::cache` and `seekwise_host::file` say, for files of equal size, one to a thread.
//! Not modelled:  page locks (a page that is rewritten while it is written does not wait), writing by reclaim.

mod barrier;
mod commit;
mod direct;
mod flusher;
pub mod machine;
mod pace;
mod pass;
mod plan;
mod reader;
pub mod spread;
mod state;
mod tasks;
mod thread;
mod writer;

pub use pace::JobPace;
pub use plan::{FilesPlan, JobOutcome, JobPlan, PhaseOutcome, PhasePlan, Region, Start};
use seekwise_host::cache::page_cache::FileNumber;
use state::{Files, IoKind, Role, TaskState, Wait};
use thread::{FileThread, SyncFor, ThreadState};

/// A bio holds at most 256 pages (BIO_MAX_PAGES up to 5.0, later BIO_MAX_VECS).
pub const BIO_PAGES: u64 = 256;
/// read_ahead_kb of a drive, in pages: 128 KiB.
pub const READ_AHEAD_PAGES: u64 = 32;
/// The block device's own file: metadata on its way to its place.
const DEVICE_FILE: FileNumber = FileNumber::MAX;

/// Calls of a thread that only time ends.
pub(crate) const CALLS_MAX: u64 = 1 << 50;
