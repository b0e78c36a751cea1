//! Serves a drive model as a network block device.

fn main() {}
