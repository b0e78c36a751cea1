//! What the page cache costs the processor, beside the requests themselves.

/// Nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct CacheCost {
    /// A call without its pages.
    pub call: u64,
    /// A page that is there goes to the program.
    pub read_page: u64,
    /// A page is made for read-ahead, entered and put into a bio.
    pub new_page: u64,
    /// A page is made or found, filled by the program and made dirty.
    pub write_page: u64,
    /// The flusher finds a page and makes it a bio.
    pub flush_page: u64,
    /// A page is clean again.
    pub clean_page: u64,
    /// A page is taken from the group for another.
    pub reclaim_page: u64,
}

impl Default for CacheCost {
    /// A host that no model describes: a page is copied at some GB/s, everything else as in kernels' own profiles of buffered streams
    /// (some hundred ns a page). Estimate, confidence low.
    fn default() -> Self {
        Self {
            call: 500,
            read_page: 400,
            new_page: 500,
            write_page: 900,
            flush_page: 600,
            clean_page: 200,
            reclaim_page: 200,
        }
    }
}
