//! What a trial knows of each of its roles. Most have one or two, and a run has tens of thousands of trials, so this is a sorted
//! list and not a tree, of which the smallest has room for eleven.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;

/// A value for each role, by its name. On disk it is an object.
#[derive(Clone, PartialEq, Eq)]
pub struct ByRole<T>(Vec<(String, T)>);

impl<T> ByRole<T> {
    /// That of no role.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    fn place(&self, role: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(name, _)| name.as_str().cmp(role))
    }

    /// The value of a role.
    pub fn get(&self, role: &str) -> Option<&T> {
        self.place(role).ok().map(|at| &self.0[at].1)
    }

    /// The value of a role, to be changed.
    pub fn get_mut(&mut self, role: &str) -> Option<&mut T> {
        self.place(role).ok().map(|at| &mut self.0[at].1)
    }

    /// Sets the value of a role, and gives the one that it had.
    pub fn insert(&mut self, role: String, value: T) -> Option<T> {
        match self.place(&role) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.reserve_exact(1);
                self.0.insert(at, (role, value));
                None
            }
        }
    }

    /// The roles with their values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &T)> + Clone {
        self.0.iter().map(|(role, value)| (role, value))
    }

    /// The roles, by name.
    pub fn keys(&self) -> impl Iterator<Item = &String> + Clone {
        self.iter().map(|(role, _)| role)
    }

    /// The values, by the names of their roles.
    pub fn values(&self) -> impl Iterator<Item = &T> + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// How many roles there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Default for ByRole<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for ByRole<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<T> Index<&str> for ByRole<T> {
    type Output = T;

    /// The value of a role that is there.
    fn index(&self, role: &str) -> &T {
        match self.get(role) {
            Some(value) => value,
            None => panic!("there is no role {role:?}"),
        }
    }
}

impl<T> Extend<(String, T)> for ByRole<T> {
    fn extend<I: IntoIterator<Item = (String, T)>>(&mut self, more: I) {
        for (role, value) in more {
            self.insert(role, value);
        }
    }
}

impl<T> FromIterator<(String, T)> for ByRole<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(all: I) -> Self {
        let mut made = Self::new();
        made.extend(all);
        made
    }
}

impl<T, const N: usize> From<[(String, T); N]> for ByRole<T> {
    fn from(all: [(String, T); N]) -> Self {
        all.into_iter().collect()
    }
}

impl<T> IntoIterator for ByRole<T> {
    type Item = (String, T);
    type IntoIter = std::vec::IntoIter<(String, T)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a ByRole<T> {
    type Item = (&'a String, &'a T);
    type IntoIter = std::iter::Map<
        std::slice::Iter<'a, (String, T)>,
        fn(&'a (String, T)) -> (&'a String, &'a T),
    >;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(role, value)| (role, value))
    }
}

impl<T: Serialize> Serialize for ByRole<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ByRole<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = ByRole<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a value for each role")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ByRole<T>, A::Error> {
                let mut made = ByRole::new();
                while let Some((role, value)) = map.next_entry()? {
                    made.insert(role, value);
                }
                Ok(made)
            }
        }

        deserializer.deserialize_map(Entries(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_found_by_name_and_stand_by_name() {
        let mut known: ByRole<u32> = [("b".to_owned(), 2), ("a".to_owned(), 1)].into();
        assert_eq!(known.insert("b".to_owned(), 3), Some(2));
        assert_eq!(known.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(
            (known["a"], known.get("b"), known.get("c")),
            (1, Some(&3), None)
        );
        let text = serde_json::to_string(&known).unwrap();
        assert_eq!(text, r#"{"a":1,"b":3}"#);
        assert_eq!(serde_json::from_str::<ByRole<u32>>(&text).unwrap(), known);
    }
}
