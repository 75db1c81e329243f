//! Calls of functions: the allowed functions and arguments, and the size of their results.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArgumentClause, FunctionArgumentList, FunctionArguments, WindowType,
};

use super::functions::{self, Makes, Place, Sized};
use super::literals::{count, text};
use super::size::{MAX_GROWTH, Size, too_long};
use super::walk::{Walk, argument, check_pattern, unknown};
use super::{json, types};
use crate::error::{Error, Result};
use crate::names::short;

/// Bytes of output for one letter of a date format.
const FORMATTED: u64 = 16;
/// Bytes of both texts that `levenshtein` compares by letters, if one is a column.
const MAX_COMPARED: u64 = 256;
/// Bytes of lists of which one is searched for each value of the other.
const MAX_SEARCHED: u64 = 16 << 10;
/// Functions that become `IN` if their list is a literal.
const LOOKUPS: &[&str] = &["array_has", "array_contains", "list_has", "list_contains"];
/// One value of many rows counts as this many times its row.
const COLLECTED: u64 = 8;

/// Whether a call has nothing but its arguments.
fn is_plain(function: &Function) -> bool {
    has_no_clauses(function)
        && match &function.args {
            FunctionArguments::List(list) => is_plain_list(list),
            FunctionArguments::None | FunctionArguments::Subquery(_) => true,
        }
}

fn has_no_clauses(function: &Function) -> bool {
    function.filter.is_none()
        && function.over.is_none()
        && function.null_treatment.is_none()
        && function.within_group.is_empty()
        && matches!(function.parameters, FunctionArguments::None)
        && !function.uses_odbc_syntax
}

fn is_plain_list(list: &FunctionArgumentList) -> bool {
    list.duplicate_treatment.is_none() && list.clauses.is_empty()
}

impl Walk {
    pub(super) fn call(&mut self, function: &Function, depth: usize) -> Result<Size> {
        let name = match function.name.0.as_slice() {
            [part] => part.as_ident(),
            _ => None,
        };
        let Some(ident) = name else {
            return Err(unknown("a function with a path"));
        };
        // Unquoted function names are case-insensitive.
        let name = match ident.quote_style {
            Some(_) => ident.value.clone(),
            None => ident.value.to_ascii_lowercase(),
        };
        let Some(known) = functions::find(&name, self.place) else {
            return Err(unavailable(&name));
        };
        self.is_immutable &= known.is_immutable;
        // Aggregates and window functions are only in views.
        let is_scalar = functions::find(&name, Place::Rows).is_some();
        if self.place == Place::View && is_scalar && !is_plain(function) {
            return Err(Error::invalid(format!(
                "`{}` is no aggregate and no window function: leave out FILTER, OVER, DISTINCT, ORDER BY and IGNORE NULLS",
                short(&name)
            )));
        }
        if !matches!(function.parameters, FunctionArguments::None) {
            return Err(unknown("a second list of arguments"));
        }
        self.aggregate_clauses(function, depth)?;
        let list = match &function.args {
            FunctionArguments::None => return Ok(Size::SMALL),
            FunctionArguments::Subquery(_) => return Err(unknown("a query as an argument")),
            FunctionArguments::List(list) => list,
        };
        if self.place == Place::Rows && !is_plain_list(list) {
            return Err(unknown("a DISTINCT or ORDER BY in a function"));
        }
        let mut arguments = Vec::with_capacity(list.args.len());
        for arg in &list.args {
            match argument(arg) {
                Some(expr) => arguments.push(expr),
                // count(*)
                None if self.place == Place::View && known.makes == Makes::Small => {}
                None => return Err(unknown("an argument with a name")),
            }
        }
        for clause in &list.clauses {
            if let FunctionArgumentClause::OrderBy(keys) = clause {
                for key in keys {
                    self.expr(&key.expr, depth, false)?;
                }
            }
        }
        if name == "is_valid" && arguments.len() != 1 {
            return Err(Error::invalid("`is_valid` takes one value"));
        }
        let mut sizes = Vec::with_capacity(arguments.len());
        for argument in &arguments {
            sizes.push(self.expr(argument, depth, false)?);
        }
        // DataFusion converts a literal list to a lookup instead of expanding it.
        let is_lookup = LOOKUPS.contains(&name.as_str());
        self.expand(sizes.iter().skip(usize::from(is_lookup)));
        self.result(
            &name,
            known.makes,
            &arguments,
            &sizes,
            function.over.is_some(),
        )
    }

    /// The clauses around the arguments of an aggregate.
    fn aggregate_clauses(&mut self, function: &Function, depth: usize) -> Result<()> {
        if has_no_clauses(function) {
            return Ok(());
        }
        if self.place == Place::Rows {
            return Err(unknown("an aggregate or window function"));
        }
        if let Some(filter) = &function.filter {
            self.expr(filter, depth, false)?;
        }
        for key in &function.within_group {
            self.expr(&key.expr, depth, false)?;
        }
        if let Some(WindowType::WindowSpec(window)) = &function.over {
            for part in &window.partition_by {
                self.expr(part, depth, false)?;
            }
            for key in &window.order_by {
                self.expr(&key.expr, depth, false)?;
            }
        }
        Ok(())
    }

    fn result(
        &mut self,
        name: &str,
        makes: Makes,
        arguments: &[&Expr],
        sizes: &[Size],
        is_window: bool,
    ) -> Result<Size> {
        let largest = sizes
            .iter()
            .fold(Size::SMALL, |largest, own| largest.or(*own));
        match makes {
            Makes::Small => Ok(Size::SMALL),
            Makes::Part(times) => Ok(largest.times(times)),
            Makes::All => Ok(self.all(sizes)),
            Makes::Path | Makes::JsonPart => {
                let path = arguments.get(1).and_then(|path| text(path));
                let Some(path) = path else {
                    return Err(Error::invalid(format!(
                        "the path of `{name}` has to be a text that is written out"
                    )));
                };
                json::check_path(path)?;
                match makes {
                    // A number of one byte is a text of three.
                    Makes::JsonPart => Ok(largest.times(6)),
                    _ => Ok(Size::SMALL),
                }
            }
            Makes::Quadratic => {
                let constant = sizes.iter().filter(|size| size.is_constant());
                let is_short = constant.clone().all(|size| size.fixed <= MAX_COMPARED);
                if !is_short || constant.count() == 0 {
                    return Err(Error::invalid(format!(
                        "`{name}` compares a column with a text of at most {MAX_COMPARED} bytes"
                    )));
                }
                Ok(Size::SMALL)
            }
            Makes::Overlap => {
                let constant = sizes.iter().filter(|size| size.is_constant());
                if constant.map(|size| size.fixed).sum::<u64>() > MAX_SEARCHED {
                    return Err(Error::invalid(format!(
                        "`{name}` looks for each of a list's values in the other list: the lists that are \
                         written out may have {MAX_SEARCHED} bytes"
                    )));
                }
                Ok(Size::SMALL)
            }
            Makes::Collected if is_window => Err(Error::invalid(format!(
                "`{name}` with OVER would put all rows into each row; use it with GROUP BY"
            ))),
            Makes::Collected => Ok(largest.times(COLLECTED)),
            Makes::Sized(sized) => match self.sized(name, sized, arguments, sizes)? {
                size if size.factor > MAX_GROWTH => Err(too_long(&format!("`{name}`"))),
                size => Ok(size),
            },
        }
    }

    fn sized(
        &mut self,
        name: &str,
        sized: Sized,
        arguments: &[&Expr],
        sizes: &[Size],
    ) -> Result<Size> {
        let size = |number: usize| sizes.get(number).copied().unwrap_or_default();
        let own = |number: usize| arguments.get(number).and_then(|argument| text(argument));
        let constant = |number: usize| match size(number) {
            size if size.is_constant() => Ok(size.fixed),
            _ => Err(too_long(&format!(
                "`{name}`, whose argument {} is no text or number that is written out,",
                number + 1
            ))),
        };
        let value = size(0);
        match sized {
            Sized::Replace => {
                let from = own(1).map_or(1, |from| from.len().max(1)) as u64;
                let to = constant(2)?;
                Ok(value.times(to.div_ceil(from).max(1)).plus(size(2)))
            }
            Sized::Regexp => check_pattern(size(1)).map(|()| Size::SMALL),
            Sized::RegexpMatch => {
                check_pattern(size(1))?;
                let groups = own(1).map_or(16, |pattern| pattern.matches('(').count() as u64);
                Ok(value.times(1 + groups))
            }
            Sized::RegexpReplace => {
                check_pattern(size(1))?;
                let to = constant(2)?;
                // Each inserts a part of the text.
                let references = own(2).map_or(to, |to| to.matches(['\\', '$']).count() as u64);
                let is_once = own(3).is_none_or(|flags| !flags.contains('g')) && sizes.len() < 5;
                let once = value.times(1 + references).plus(size(2));
                match is_once && (sizes.len() < 4 || own(3).is_some()) {
                    true => Ok(once),
                    // There may be a match before each byte.
                    false => Ok(once.plus(value.times(to))),
                }
            }
            Sized::Pad => {
                let length = written(name, arguments.get(1))?;
                Ok(Size {
                    fixed: length.saturating_mul(4),
                    factor: value.factor,
                })
            }
            Sized::Repeat => Ok(value.times(written(name, arguments.get(1))?.max(1))),
            Sized::Resize => {
                let length = written(name, arguments.get(1))?;
                let filled = match sizes.len() {
                    0..3 => Size::literal(8),
                    _ => size(2),
                };
                Ok(value.plus(filled.times(length)))
            }
            Sized::Separated => {
                let separators = size(0).times(sizes.len().saturating_sub(2) as u64);
                let parts = self.all(sizes.get(1..).unwrap_or_default());
                Ok(parts.plus(separators))
            }
            Sized::Joined => {
                let separator = constant(1)?;
                // An item may be a number of one byte, which has up to four letters.
                Ok(value.times(4 + separator).plus(Size::SMALL))
            }
            Sized::ListReplace => {
                let to = constant(2)?;
                Ok(value.times(to.div_ceil(4).max(1)).plus(size(2)))
            }
            Sized::Format => {
                let format = constant(1)?;
                Ok(Size::literal(64).plus(Size {
                    fixed: format.saturating_mul(FORMATTED),
                    factor: 0,
                }))
            }
            Sized::Split => Ok(value.times(5).plus(Size::SMALL)),
            Sized::ArrowCast => match own(1) {
                Some(to) => types::arrow_cast(value, to),
                None => Err(Error::invalid(format!(
                    "the type of `{name}` has to be a text that is written out"
                ))),
            },
        }
    }
}

/// A literal count.
fn written(name: &str, argument: Option<&&Expr>) -> Result<u64> {
    argument
        .and_then(|argument| count(argument))
        .ok_or_else(|| {
            Error::invalid(format!(
                "the length that `{name}` is given has to be a number that is written out"
            ))
        })
}

fn unavailable(name: &str) -> Error {
    Error::invalid(format!("the function `{}` is not available", short(name)))
}
