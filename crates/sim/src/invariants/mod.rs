//! What must hold in every run, watched while it runs. A machine takes a checker as its observer; the tests do.

pub mod once;

pub use once::Once;
