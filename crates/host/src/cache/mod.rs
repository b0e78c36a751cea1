//! The page cache as readers and writers meet it.

pub mod bits;
pub mod group_counter;
pub mod metadata;
pub mod pacing;
pub mod page_cache;
pub mod read_ahead;
pub mod write_back;

pub use page_cache::PageCache;
