//! Everything above the queue: block layer, page cache, file placement, CPU cost, jobs.
