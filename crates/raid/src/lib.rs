//! RAID: layouts (pure address arithmetic), and md as Linux does it. Controllers are devices: crate `controller`.
//!
//! `layout` says where a sector lies.
//! `md` decides, event by event, which member gets which request; it owns no threads and no clock.

pub mod geometry;
pub mod layout;
pub mod md;

pub use geometry::{Geometry, GeometryError, Level};
pub use layout::parity::ParityLayout;
pub use layout::raid10::Raid10Layout;
