//! Shapes that a suite may write a value in, for serde: a string or a list, one
//! or many, a table whose keys are names. Each has its own visitor, since
//! serde's `untagged` loses the place of what is wrong inside.

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// A value with its place in the file.
#[derive(Debug, Clone)]
pub(super) struct Spanned<T> {
    value: T,
    span: Range<usize>,
}

impl<T> Spanned<T> {
    pub(super) fn new(span: Range<usize>, value: T) -> Self {
        Self { value, span }
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    pub(super) fn get_ref(&self) -> &T {
        &self.value
    }

    pub(super) fn into_inner(self) -> T {
        self.value
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let spanned = toml::Spanned::<T>::deserialize(from)?;
        let span = spanned.span();
        Ok(Self::new(span, spanned.into_inner()))
    }
}

/// Defines a text whose unit is read later, when its place is known.
macro_rules! unit_text {
    ($(#[$doc:meta])* $name:ident, $expecting:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub(super) struct $name(pub(super) String);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        Ok($name(text.to_owned()))
                    }
                }
                from.deserialize_any(Text)
            }
        }
    };
}

unit_text! {
    /// `"250ms"`.
    DurationText, "a duration with its unit, such as \"30s\""
}
unit_text! {
    /// `"64KiB"`.
    SizeText, "a size with its unit, such as \"64KiB\""
}
unit_text! {
    /// `"2%"`.
    ShareText, "a share with its sign, such as \"2%\""
}

/// A number, whole or not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number(pub(super) f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Number, E> {
                Ok(Number(number as f64))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Number, E> {
                if number.is_finite() {
                    Ok(Number(number))
                } else {
                    Err(E::invalid_value(de::Unexpected::Float(number), &self))
                }
            }
        }
        from.deserialize_any(Any)
    }
}

/// A figure: a number, or a text with its unit.
#[derive(Debug, Clone)]
pub(super) enum Quantity {
    /// A bare number.
    Number(f64),
    /// With a unit that the metric decides.
    Text(String),
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Quantity;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a string with a unit")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Quantity, E> {
                Ok(Quantity::Number(number as f64))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Quantity, E> {
                if number.is_finite() {
                    Ok(Quantity::Number(number))
                } else {
                    Err(E::invalid_value(de::Unexpected::Float(number), &self))
                }
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
                Ok(Quantity::Text(text.to_owned()))
            }
        }
        from.deserialize_any(Any)
    }
}

/// Any value, to be sent as JSON.
#[derive(Debug, Clone)]
pub(super) struct Json(pub(super) toml::Value);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        toml::Value::deserialize(from).map(Self)
    }
}

/// The key beside metrics that says which cells are meant.
pub(super) trait SelectorKey {
    /// Its name.
    const NAME: &'static str;
    /// What people read about it.
    const ABOUT: &'static str;
    /// Whether it must be there.
    const REQUIRED: bool;
    /// What the table is called in a schema.
    const TABLE: &'static str;
    /// What people call the table.
    const TITLE: &'static str;
    /// What people read about the table.
    const ABOUT_TABLE: &'static str;
}

/// `cells`: any number of them.
#[derive(Debug)]
pub(super) struct Several;

impl SelectorKey for Several {
    const NAME: &'static str = "cells";
    const ABOUT: &'static str = "The cells that it holds. Default: all.";
    const REQUIRED: bool = false;
    const TABLE: &'static str = "Gate";
    const TITLE: &'static str = "[[gates]]";
    const ABOUT_TABLE: &'static str = "Limits by metric, for some cells or for all.";
}

/// `cell`: one of them.
#[derive(Debug)]
pub(super) struct Single;

impl SelectorKey for Single {
    const NAME: &'static str = "cell";
    const ABOUT: &'static str = "The cell that the figures stand beside. An axis that is not named has the baseline's value, else its first.";
    const REQUIRED: bool = true;
    const TABLE: &'static str = "PublishedRow";
    const TITLE: &'static str = "a published row";
    const ABOUT_TABLE: &'static str = "The published figures of one cell, by metric.";
}

/// A table of metrics, with a selector beside them.
#[derive(Debug)]
pub(super) struct ByMetric<K, V> {
    pub(super) selector: Option<Spanned<super::schema::Selector>>,
    pub(super) metrics: Vec<(Spanned<String>, Spanned<V>)>,
    key: PhantomData<K>,
}

impl<'de, K: SelectorKey, V: Deserialize<'de>> Deserialize<'de> for ByMetric<K, V> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Table<K, V>(PhantomData<(K, V)>);
        impl<'de, K: SelectorKey, V: Deserialize<'de>> Visitor<'de> for Table<K, V> {
            type Value = ByMetric<K, V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut selector = None;
                let mut metrics = Vec::new();
                while let Some(key) = map.next_key::<Spanned<String>>()? {
                    if key.get_ref() == K::NAME {
                        selector = Some(map.next_value()?);
                    } else {
                        metrics.push((key, map.next_value()?));
                    }
                }
                Ok(ByMetric {
                    selector,
                    metrics,
                    key: PhantomData,
                })
            }
        }
        from.deserialize_map(Table(PhantomData))
    }
}

/// A table whose keys are names, in the order of the file.
#[derive(Debug)]
pub(super) struct Entries<T>(pub(super) Vec<(Spanned<String>, T)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Table<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Table<T> {
            type Value = Entries<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        from.deserialize_map(Table(PhantomData))
    }
}

/// A command: a string, split like a shell would, or the arguments themselves.
#[derive(Debug)]
pub(super) enum Words {
    /// To be split.
    Line(String),
    /// Split by the writer.
    List(Vec<Spanned<String>>),
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Words;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an array of strings")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Words, E> {
                Ok(Words::Line(text.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Words, A::Error> {
                Deserialize::deserialize(SeqAccessDeserializer::new(list)).map(Words::List)
            }
        }
        from.deserialize_any(Either)
    }
}

/// A list of commands; one alone may stand without the list.
#[derive(Debug)]
pub(super) struct CommandList(pub(super) Vec<Spanned<Words>>);

impl<'de> Deserialize<'de> for CommandList {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = CommandList;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of commands")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<CommandList, E> {
                // The place of a single command is that of the whole.
                Ok(CommandList(vec![Spanned::new(
                    0..0,
                    Words::Line(text.to_owned()),
                )]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<CommandList, A::Error> {
                Deserialize::deserialize(SeqAccessDeserializer::new(list)).map(CommandList)
            }
        }
        from.deserialize_any(Either)
    }
}

/// A string, a number or a truth value, as the name that it has in a selector:
/// `4` is `"4"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scalar(pub(super) String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl Visitor<'_> for ScalarVisitor {
    type Value = Scalar;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a number, or true or false")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar(text.to_owned()))
    }
    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar(value.to_string()))
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Scalar, E> {
        Ok(Scalar(value.to_string()))
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Scalar, E> {
        Ok(Scalar(value.to_string()))
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Scalar, E> {
        if value.is_finite() {
            Ok(Scalar(value.to_string()))
        } else {
            Err(E::invalid_value(de::Unexpected::Float(value), &self))
        }
    }
}

/// One scalar or an array of them.
#[derive(Debug)]
pub(super) struct OneOrMany<T>(pub(super) Vec<Spanned<T>>);

impl<'de> Deserialize<'de> for OneOrMany<Scalar> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = OneOrMany<Scalar>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or an array of values")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                one(ScalarVisitor.visit_str(text))
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
                one(ScalarVisitor.visit_bool(value))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
                one(ScalarVisitor.visit_i64(value))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
                one(ScalarVisitor.visit_f64(value))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                Deserialize::deserialize(SeqAccessDeserializer::new(list)).map(OneOrMany)
            }
        }
        /// The place of a single value is that of the whole; whoever reads it has that.
        fn one<E>(value: Result<Scalar, E>) -> Result<OneOrMany<Scalar>, E> {
            Ok(OneOrMany(vec![Spanned::new(0..0, value?)]))
        }
        from.deserialize_any(Either)
    }
}

/// `values` of a toggle: scalars, or named tables of settings.
#[derive(Debug)]
pub(super) enum Values<S> {
    /// `[1, 2, 4]`
    Scalars(Vec<Spanned<Scalar>>),
    /// `{ off = {}, on = { … } }`
    Named(Entries<Spanned<S>>),
}

impl<'de, S: Deserialize<'de>> Deserialize<'de> for Values<S> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either<S>(PhantomData<S>);
        impl<'de, S: Deserialize<'de>> Visitor<'de> for Either<S> {
            type Value = Values<S>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of scalars or a table of named values")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                Deserialize::deserialize(SeqAccessDeserializer::new(list)).map(Values::Scalars)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Deserialize::deserialize(MapAccessDeserializer::new(map)).map(Values::Named)
            }
        }
        from.deserialize_any(Either(PhantomData))
    }
}

/// A number of trials, or `"auto"`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Repetitions {
    /// So many.
    Number(u32),
    /// As many as the interval needs.
    Auto,
}

impl<'de> Deserialize<'de> for Repetitions {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Repetitions;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number or \"auto\"")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Repetitions, E> {
                u32::try_from(number)
                    .map(Repetitions::Number)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Repetitions, E> {
                match text {
                    "auto" => Ok(Repetitions::Auto),
                    other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
                }
            }
        }
        from.deserialize_any(Either)
    }
}
