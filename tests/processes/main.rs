//! Real processes under real guards: how they start, how they are ended, what
//! sudden deaths leave, and what the sampler sees of them.

#![expect(clippy::unwrap_used, reason = "a test fails where its helper does")]

mod death;
mod kit;
mod sampling;
mod start;
mod stop;
mod trees;
