//! The machine: event queue, clock and wiring. The only place where all parts meet.
