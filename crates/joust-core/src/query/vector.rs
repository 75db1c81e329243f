//! Resolves the column of a vector search, and converts the query vector to Arrow.

use std::sync::Arc;

use arrow::array::{ArrayRef, FixedSizeListArray, Float32Array, Int8Array, UInt8Array};
use arrow::datatypes::{DataType, Field};
use lance::Dataset;
use lance_core::datatypes::{Field as LanceField, format_field_path};

use super::vectors::Vectors;
use crate::error::{Error, Result};
use crate::schema::columns::{canonical_column, unknown_column};
use crate::schema::vector_column::{VectorColumn, describe};

/// The column of the search: the named one, or the only one with the dimension of the vectors.
pub fn column(dataset: &Dataset, named: Option<&str>, dimension: usize) -> Result<VectorColumn> {
    if let Some(path) = named {
        let path = &canonical_column(dataset, path)?;
        let field = dataset
            .schema()
            .field(path)
            .ok_or_else(|| unknown_column(dataset, path))?;
        let column = describe(path, &field.data_type()).ok_or_else(|| {
            Error::invalid(format!(
                "column `{path}` holds no vectors; a vector column is a fixed-size list of numbers"
            ))
        })?;
        if column.dimension != dimension {
            // LanceDB's wording, which its users and their tools know.
            return Err(Error::invalid(format!(
                "the query vector does not fit: query dim({dimension}) doesn't match the column \
                 {path} vector dim({})",
                column.dimension
            )));
        }
        return Ok(column);
    }
    only(vector_columns(&dataset.schema().fields), dimension)
}

/// The only column of a dimension.
fn only(all: Vec<VectorColumn>, dimension: usize) -> Result<VectorColumn> {
    let list = |columns: &[VectorColumn]| {
        let texts: Vec<String> = columns
            .iter()
            .map(|column| format!("`{}` ({})", column.path, column.dimension))
            .collect();
        texts.join(", ")
    };
    // The sentence begins with LanceDB's wording, because its users and their tools know it.
    let none = |found: String| {
        Err(Error::invalid(format!(
            "No vector column found to match with the query vector dimension: {dimension}; {found}"
        )))
    };
    if all.is_empty() {
        return none("the table has no vector column".to_string());
    }
    let (mut compatible, others): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|column| column.dimension == dimension);
    match (compatible.pop(), compatible.is_empty()) {
        (Some(column), true) => Ok(column),
        (Some(column), false) => {
            compatible.push(column);
            Err(Error::invalid(format!(
                "several columns fit the query vector: {}; name one in `vector_column`",
                list(&compatible)
            )))
        }
        (None, _) => none(format!(
            "the table's vector columns have: {}",
            list(&others)
        )),
    }
}

/// The vector columns among fields and in structs, in the schema's order.
fn vector_columns(fields: &[LanceField]) -> Vec<VectorColumn> {
    fn collect<'a>(
        fields: &'a [LanceField],
        parents: &mut Vec<&'a str>,
        found: &mut Vec<VectorColumn>,
    ) {
        for field in fields {
            let data_type = field.data_type();
            parents.push(&field.name);
            if matches!(data_type, DataType::Struct(_)) {
                collect(&field.children, parents, found);
            } else {
                found.extend(describe(&format_field_path(parents), &data_type));
            }
            parents.pop();
        }
    }
    let mut found = Vec::new();
    collect(fields, &mut Vec::new(), &mut found);
    found
}

/// The dimension of all vectors; `None` if there is no vector.
pub fn dimension(vectors: &Vectors) -> Result<Option<usize>> {
    match vectors {
        Vectors::None => Ok(None),
        Vectors::One(vector) => Ok(Some(vector.len())),
        Vectors::Many(vectors) => {
            let Some(first) = vectors.first().map(Vec::len).filter(|length| *length > 0) else {
                return Err(Error::invalid(
                    "the query vectors are empty; give at least one number",
                ));
            };
            match vectors.iter().find(|vector| vector.len() != first) {
                None => Ok(Some(first)),
                Some(other) => Err(Error::invalid(format!(
                    "the query vectors have {first} and {} numbers; make them equally long",
                    other.len()
                ))),
            }
        }
    }
}

impl VectorColumn {
    /// The vectors in the type of the column: one as a plain array, several as a list.
    pub fn array(&self, vectors: &Vectors) -> Result<ArrayRef> {
        match vectors {
            Vectors::None => Err(Error::invalid("there is no query vector")),
            Vectors::One(vector) => self.values(vector.clone()),
            Vectors::Many(vectors) => {
                let values = self.values(vectors.concat())?;
                let field = Arc::new(Field::new("item", values.data_type().clone(), true));
                let list = FixedSizeListArray::try_new(field, self.dimension as i32, values, None)?;
                Ok(Arc::new(list))
            }
        }
    }

    fn values(&self, numbers: Vec<f32>) -> Result<ArrayRef> {
        Ok(match self.element {
            DataType::UInt8 => {
                let bytes = self.integers(&numbers, 0.0, 255.0, |number| number as u8)?;
                Arc::new(UInt8Array::from(bytes))
            }
            DataType::Int8 => {
                let bytes = self.integers(&numbers, -128.0, 127.0, |number| number as i8)?;
                Arc::new(Int8Array::from(bytes))
            }
            // Lance converts to the other float types itself.
            _ => Arc::new(Float32Array::from(numbers)),
        })
    }

    fn integers<T>(
        &self,
        numbers: &[f32],
        least: f32,
        greatest: f32,
        convert: fn(f32) -> T,
    ) -> Result<Vec<T>> {
        numbers
            .iter()
            .map(|&number| {
                if number.fract() == 0.0 && (least..=greatest).contains(&number) {
                    Ok(convert(number))
                } else {
                    Err(Error::invalid(format!(
                        "{number} is no value of column `{}`; give whole numbers from {least} to {greatest}",
                        self.path
                    )))
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{Fields, Schema as ArrowSchema};
    use lance_core::datatypes::Schema;

    use super::*;

    fn vector(name: &str, dimension: i32) -> Field {
        let item = Arc::new(Field::new("item", DataType::Float32, true));
        Field::new(name, DataType::FixedSizeList(item, dimension), true)
    }

    fn structure(name: &str, fields: Vec<Field>) -> Field {
        Field::new(name, DataType::Struct(Fields::from(fields)), true)
    }

    fn inferred(fields: Vec<Field>, dimension: usize) -> Result<String> {
        let schema = Schema::try_from(&ArrowSchema::new(fields)).unwrap();
        only(vector_columns(&schema.fields), dimension).map(|column| column.path)
    }

    #[test]
    fn a_vector_in_a_struct_is_inferred() {
        let fields = vec![
            Field::new("id", DataType::Int64, false),
            structure(
                "meta-data",
                vec![structure("image", vec![vector("embedding", 2)])],
            ),
            vector("other", 3),
        ];
        assert_eq!(
            inferred(fields.clone(), 2).unwrap(),
            "`meta-data`.image.embedding"
        );
        assert_eq!(inferred(fields, 3).unwrap(), "other");
    }

    #[test]
    fn several_candidates_are_listed_in_the_order_of_the_schema() {
        let fields = vec![
            structure("image", vec![vector("embedding", 2)]),
            structure("text", vec![vector("embedding", 2)]),
        ];
        let error = inferred(fields, 2).unwrap_err().to_string();
        assert!(
            error.contains("`image.embedding` (2), `text.embedding` (2)"),
            "{error}"
        );
    }

    #[test]
    fn a_table_without_a_compatible_column_lists_its_vector_columns() {
        let error = inferred(vec![], 2).unwrap_err().to_string();
        assert!(error.contains("No vector column"), "{error}");
        let error = inferred(vec![vector("v", 3)], 2).unwrap_err().to_string();
        assert!(error.contains("`v` (3)"), "{error}");
    }
}
