//! `min` and `max` of floats in groups, and over moving frames of a window.
//!
//! In groups, DataFusion 54.1 takes the newer value if one of two is NaN, so that the result depends on the order of the
//! rows, and begins with the largest finite value, which hides an infinity. Without groups it uses the total order of
//! IEEE 754, as ORDER BY does: a positive NaN is the largest value, and a negative one the smallest. These functions use
//! that order everywhere.
//!
//! Over a frame without values, DataFusion returns the result of an earlier frame. Here it is NULL.

use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, FieldRef, Float16Type, Float32Type, Float64Type,
};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, Expr, ExprSchemable,
    GroupsAccumulator, ReversedUDAF, SetMonotonicity, Signature, StatisticsArgs,
    WindowFunctionDefinition,
};
use datafusion_functions_aggregate_common::aggregate::groups_accumulator::prim_op::PrimitiveGroupsAccumulator;

type F16 = <Float16Type as ArrowPrimitiveType>::Native;

pub fn min() -> Arc<AggregateUDF> {
    static MIN: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| Ordered::like(min_udaf()));
    MIN.clone()
}

pub fn max() -> Arc<AggregateUDF> {
    static MAX: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| Ordered::like(max_udaf()));
    MAX.clone()
}

/// Replaces the function of a call over columns of `schema`, if DataFusion's would be wrong: a plan without such a call is
/// the same to a worker of a job.
pub fn replace(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::AggregateFunction(mut call) => {
            let first = call.params.args.first();
            let first = first.map(|value| value.get_type(schema)).transpose()?;
            let own = first.filter(DataType::is_floating).and(own(&call.func));
            let is_replaced = own.is_some();
            call.func = own.unwrap_or(call.func);
            Ok(Transformed::new_transformed(
                Expr::AggregateFunction(call),
                is_replaced,
            ))
        }
        Expr::WindowFunction(mut call) => {
            let is_moving = !call.params.window_frame.start_bound.is_unbounded();
            let own = match &call.fun {
                WindowFunctionDefinition::AggregateUDF(function) if is_moving => own(function),
                _ => None,
            };
            let is_replaced = own.is_some();
            if let Some(own) = own {
                call.fun = WindowFunctionDefinition::AggregateUDF(own);
            }
            Ok(Transformed::new_transformed(
                Expr::WindowFunction(call),
                is_replaced,
            ))
        }
        other => Ok(Transformed::no(other)),
    }
}

fn own(function: &AggregateUDF) -> Option<Arc<AggregateUDF>> {
    match function.name() {
        "min" => Some(min()),
        "max" => Some(max()),
        _ => None,
    }
}

/// An accumulator whose result is NULL while its frame has no value.
#[derive(Debug)]
struct Sliding {
    accumulator: Box<dyn Accumulator>,
    /// The number of values in the frame that are not NULL.
    values: usize,
    null: ScalarValue,
}

fn count_values(values: &[ArrayRef]) -> usize {
    values
        .first()
        .map_or(0, |values| values.len() - values.logical_null_count())
}

impl Accumulator for Sliding {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values += count_values(values);
        self.accumulator.update_batch(values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values = self.values.saturating_sub(count_values(values));
        self.accumulator.retract_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        match self.values {
            0 => Ok(self.null.clone()),
            _ => self.accumulator.evaluate(),
        }
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.accumulator.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.accumulator.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.values += count_values(states);
        self.accumulator.merge_batch(states)
    }
}

/// `min` or `max` of DataFusion with other accumulators.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Ordered {
    function: Arc<AggregateUDF>,
    /// What a value is, compared with the result until then, if it replaces that.
    wanted: Ordering,
}

impl Ordered {
    fn like(function: Arc<AggregateUDF>) -> Arc<AggregateUDF> {
        let wanted = match function.is_descending() {
            Some(true) => Ordering::Greater,
            _ => Ordering::Less,
        };
        Arc::new(AggregateUDF::from(Self { function, wanted }))
    }

    fn inner(&self) -> &dyn AggregateUDFImpl {
        self.function.inner().as_ref()
    }

    /// `first`: the value that every other replaces.
    fn accumulator_of<T: ArrowPrimitiveType + Send>(
        &self,
        first: T::Native,
        compare: fn(&T::Native, &T::Native) -> Ordering,
    ) -> Box<dyn GroupsAccumulator> {
        let wanted = self.wanted;
        let take = move |result: &mut T::Native, value: T::Native| {
            if compare(&value, result) == wanted {
                *result = value;
            }
        };
        let accumulator = PrimitiveGroupsAccumulator::<T, _>::new(&T::DATA_TYPE, take);
        Box::new(accumulator.with_starting_value(first))
    }
}

impl AggregateUDFImpl for Ordered {
    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        // The total order of floats is that of their bits: the NaNs with all bits set are its ends.
        let is_max = self.wanted == Ordering::Greater;
        Ok(match args.return_field.data_type() {
            DataType::Float16 => {
                let first = F16::from_bits(if is_max { u16::MAX } else { u16::MAX >> 1 });
                self.accumulator_of::<Float16Type>(first, F16::total_cmp)
            }
            DataType::Float32 => {
                let first = f32::from_bits(if is_max { u32::MAX } else { u32::MAX >> 1 });
                self.accumulator_of::<Float32Type>(first, f32::total_cmp)
            }
            DataType::Float64 => {
                let first = f64::from_bits(if is_max { u64::MAX } else { u64::MAX >> 1 });
                self.accumulator_of::<Float64Type>(first, f64::total_cmp)
            }
            _ => return self.inner().create_groups_accumulator(args),
        })
    }

    fn name(&self) -> &str {
        self.inner().name()
    }

    fn signature(&self) -> &Signature {
        self.inner().signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner().return_type(types)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner().coerce_types(types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.inner().accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let null = ScalarValue::try_from(args.return_field.data_type())?;
        Ok(Box::new(Sliding {
            accumulator: self.inner().create_sliding_accumulator(args)?,
            values: 0,
            null,
        }))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.inner().groups_accumulator_supported(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.inner().state_fields(args)
    }

    fn is_descending(&self) -> Option<bool> {
        self.inner().is_descending()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner().order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.inner().reverse_expr()
    }

    fn value_from_stats(&self, args: &StatisticsArgs) -> Option<ScalarValue> {
        self.inner().value_from_stats(args)
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.inner().set_monotonicity(data_type)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner().documentation()
    }
}
