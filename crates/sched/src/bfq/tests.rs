//! Rules of bfq, one by one.
