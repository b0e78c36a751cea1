//! RAID: layouts (pure address arithmetic), md as Linux does it, hardware controllers as they behave.
