//! A function without effect, whose result may be NULL.
//!
//! DataFusion 54.1 takes the nullability of a subquery of one value from its column, also if it may have no row, and then
//! makes `(SELECT id FROM t WHERE ...) IS NULL` false.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, LogicalPlanBuilder, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

static NULLABLE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(ScalarUDF::from(Nullable {
        // The optimizer evaluates other functions of constants.
        signature: Signature::any(1, Volatility::Volatile),
    }))
});

/// The same rows, with columns that may be NULL.
pub fn nullable(plan: &LogicalPlan) -> Result<LogicalPlan> {
    let fields = plan.schema().iter();
    let columns: Vec<Expr> = fields
        .map(|(relation, field)| {
            let column = Expr::from((relation, field));
            match field.is_nullable() {
                true => column,
                false => NULLABLE
                    .call(vec![column])
                    .alias_qualified(relation.cloned(), field.name()),
            }
        })
        .collect();
    LogicalPlanBuilder::from(plan.clone())
        .project(columns)?
        .build()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Nullable {
    signature: Signature,
}

impl ScalarUDFImpl for Nullable {
    fn name(&self) -> &'static str {
        "nullable"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types.first().cloned().unwrap_or(DataType::Null))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let field = args.arg_fields.first().map(|field| field.as_ref().clone());
        let field = field.unwrap_or_else(|| Field::new(self.name(), DataType::Null, true));
        Ok(Arc::new(field.with_name(self.name()).with_nullable(true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let value = args.args.into_iter().next();
        Ok(value.unwrap_or(ColumnarValue::Scalar(datafusion::common::ScalarValue::Null)))
    }
}
