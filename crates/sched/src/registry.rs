//! The table of schedulers, whose rows stand in `lib.rs`: command-line choices, `seekwise explain`, studies, charts and replay read it.
//!
//! A row is the module and the type in it (`TYPE::new(&Setup)` builds it); the module's `ABOUT` says everything else. Dispatch is by `match`,
//! not through a vtable: it sits on the simulator's hot path.

use crate::about::About;
use crate::parameter::Setup;
pub use crate::{AnyScheduler, ENTRIES};

/// A scheduler as the registry shows it.
pub struct SchedulerEntry {
    pub(crate) about: &'static About,
    pub(crate) build: fn(&Setup) -> AnyScheduler,
}

impl core::ops::Deref for SchedulerEntry {
    type Target = About;

    fn deref(&self) -> &About {
        self.about
    }
}

impl core::fmt::Debug for SchedulerEntry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name)
    }
}

impl SchedulerEntry {
    /// Starts the policy; an error is one sentence.
    pub fn build(&self, setup: &Setup) -> Result<AnyScheduler, String> {
        if !self.kernels.contains(setup.kernel.version) {
            return Err(format!(
                "Linux {} has no {} (it is in {})",
                setup.kernel.version, self.name, self.kernels
            ));
        }
        let mut checked = crate::parameter::Values::default();
        for (name, value) in setup.values.iter() {
            checked.set(
                self.name,
                self.parameters,
                &setup.kernel,
                name,
                value.into(),
            )?;
        }
        Ok((self.build)(setup))
    }
}

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static SchedulerEntry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

macro_rules! schedulers {
    ($($module:ident::$variant:ident),* $(,)?) => {
        $(pub mod $module;)*

        /// Any scheduler of the registry.
        #[allow(clippy::large_enum_variant)] // One per queue, never moved on the hot path.
        #[derive(Clone)]
        pub enum AnyScheduler { $($variant($module::$variant)),* }

        /// Every scheduler.
        pub const ENTRIES: &[registry::SchedulerEntry] = &[$(registry::SchedulerEntry {
            about: &$module::ABOUT,
            build: |setup| AnyScheduler::$variant($module::$variant::new(setup)),
        }),*];

        macro_rules! forward {
            ($self:ident, $policy:ident => $call:expr) => {
                match $self { $(AnyScheduler::$variant($policy) => $call),* }
            };
        }
    };
}
