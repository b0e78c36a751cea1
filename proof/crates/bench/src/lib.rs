//! Nothing: a package needs a library or a program, and this one is for `benches/`.
