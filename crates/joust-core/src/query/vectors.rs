//! The vectors of a query, in both wire formats: bare numbers, or an object that names its kind.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};

/// The query vectors.
#[derive(Debug, Default, PartialEq)]
pub enum Vectors {
    #[default]
    None,
    One(Vec<f32>),
    Many(Vec<Vec<f32>>),
}

impl<'de> Deserialize<'de> for Vectors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VectorsVisitor)
    }
}

struct VectorsVisitor;

impl<'de> Visitor<'de> for VectorsVisitor {
    type Value = Vectors;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "numbers, arrays of numbers, or an object with `single_vector` or `multi_vector`",
        )
    }

    fn visit_unit<E>(self) -> Result<Vectors, E> {
        Ok(Vectors::None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vectors, A::Error> {
        let mut vectors = match seq.next_element()? {
            None => return Ok(Vectors::None),
            Some(Element::Number(first)) => {
                let mut vector = Vec::with_capacity(1024);
                vector.push(first);
                while let Some(Finite(number)) = seq.next_element()? {
                    vector.push(number);
                }
                return Ok(Vectors::One(vector));
            }
            Some(Element::Vector(first)) => vec![first],
        };
        while let Some(vector) = seq.next_element::<Vec<Finite>>()? {
            vectors.push(numbers(vector));
        }
        Ok(Vectors::Many(vectors))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vectors, A::Error> {
        let mut found = Vectors::None;
        while let Some(key) = map.next_key::<String>()? {
            let next = match key.as_str() {
                "single_vector" => {
                    map.next_value::<Option<Vec<Finite>>>()?
                        .map(|vector| match vector.is_empty() {
                            true => Vectors::None,
                            false => Vectors::One(numbers(vector)),
                        })
                }
                "multi_vector" => map
                    .next_value::<Option<Vec<Vec<Finite>>>>()?
                    .map(|vectors| match vectors.is_empty() {
                        true => Vectors::None,
                        false => Vectors::Many(vectors.into_iter().map(numbers).collect()),
                    }),
                _ => map.next_value::<de::IgnoredAny>().map(|_| None)?,
            };
            match (next, &found) {
                (None | Some(Vectors::None), _) => {}
                (Some(next), Vectors::None) => found = next,
                _ => {
                    return Err(de::Error::custom(
                        "give `single_vector` or `multi_vector`, not both",
                    ));
                }
            }
        }
        Ok(found)
    }
}

fn numbers(vector: Vec<Finite>) -> Vec<f32> {
    vector.into_iter().map(|Finite(number)| number).collect()
}

/// A number that a `float32` can hold.
struct Finite(f32);

impl<'de> Deserialize<'de> for Finite {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        finite(f64::deserialize(deserializer)?).map(Self)
    }
}

fn finite<E: de::Error>(number: f64) -> Result<f32, E> {
    let single = number as f32;
    if single.is_finite() {
        Ok(single)
    } else {
        Err(E::custom(format!("{number} does not fit a 32-bit float")))
    }
}

/// The first element distinguishes one vector from several.
enum Element {
    Number(f32),
    Vector(Vec<f32>),
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ElementVisitor)
    }
}

struct ElementVisitor;

impl<'de> Visitor<'de> for ElementVisitor {
    type Value = Element;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or an array of numbers")
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Element, E> {
        finite(number).map(Element::Number)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Element, E> {
        finite(number as f64).map(Element::Number)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Element, E> {
        finite(number as f64).map(Element::Number)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Element, A::Error> {
        let mut vector = Vec::new();
        while let Some(Finite(number)) = seq.next_element()? {
            vector.push(number);
        }
        Ok(Element::Vector(vector))
    }
}
