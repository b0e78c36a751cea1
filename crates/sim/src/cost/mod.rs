//! What a host's work costs its processor.
//!
//! ```text
//!   models/host-*.toml ─▶ HostModel ─┬─▶ StepCosts        step by step: files, readers
//!                                    └─▶ OperationCosts   of a trial's operations ─▶ CpuCost, CacheCost, MdCosts
//! ```

mod cache;
mod md;
mod model;
mod operation;
mod service;
mod step;

pub use cache::CacheCost;
pub use md::MdCosts;
pub use model::HostModel;
pub use operation::{DirectPage, OperationCosts};
pub use service::{Service, Services};
pub use step::{ByCommand, StepCosts};
