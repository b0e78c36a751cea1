//! What must hold in every run, watched while it runs. Used by tests; a machine takes a checker as its observer.

pub mod once;

pub use once::Once;
