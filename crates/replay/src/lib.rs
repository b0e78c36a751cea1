//! Holds scheduler and RAID models against recordings of real kernels.
