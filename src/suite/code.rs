//! The kinds of mistakes that a suite can hold. A new one is a line here, a text
//! for `hotlap explain` in `src/suite/explain/CODE.md` (without it this file does
//! not compile), and a fixture in `tests/diagnostics/CODE.toml` with a snapshot of
//! what is shown for it.

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal;)+) => {
        $($(#[doc = $doc])+ pub(crate) const $name: &str = $code;)+

        /// Every code, with what it means.
        pub const CODES: &[(&str, &str)] = &[$(($code, concat!($($doc),+))),+];

        /// What is to be said of each, in the same order.
        pub(super) const TEXTS: &[&str] = &[$(include_str!(concat!("explain/", $code, ".md"))),+];
    };
}

codes! {
    /// The text is not TOML 1.0.
    SYNTAX = "syntax";
    /// A key that the suite format does not have at this place.
    UNKNOWN_KEY = "unknown-key";
    /// A name that is kept for later formats, or for hotlap itself.
    RESERVED = "reserved";
    /// A value of another type than the key takes.
    WRONG_TYPE = "wrong-type";
    /// A duration, size or share that cannot be read.
    BAD_UNIT = "bad-unit";
    /// A value that is outside of what makes sense.
    BAD_VALUE = "bad-value";
    /// A name with other characters than lower-case letters, digits, `-`, `_` and `.`.
    BAD_NAME = "bad-name";
    /// A name that nothing in the suite has.
    UNKNOWN_NAME = "unknown-name";
    /// A metric that hotlap does not have.
    UNKNOWN_METRIC = "unknown-metric";
    /// Processes or services that need each other in a circle.
    CYCLE = "cycle";
    /// A name that is used twice where it must be unique.
    DUPLICATE = "duplicate";
    /// Something without which the suite cannot run.
    MISSING = "missing";
    /// Two settings that exclude each other.
    CONFLICT = "conflict";
    /// A key that is accepted nowhere without another one, or has no effect here.
    NO_EFFECT = "no-effect";
    /// A command that cannot be split into arguments.
    BAD_COMMAND = "bad-command";
    /// A template that cannot be rendered.
    BAD_TEMPLATE = "bad-template";
    /// A name in a template that nothing defines.
    UNKNOWN_VARIABLE = "unknown-variable";
    /// A request target or header that could not be sent as it is written.
    BAD_REQUEST = "bad-request";
    /// A requirement that cannot be understood.
    BAD_REQUIREMENT = "bad-requirement";
    /// A file or folder that is not there.
    NO_SUCH_FILE = "no-such-file";
    /// A matrix without a single cell.
    NO_CELLS = "no-cells";
}
