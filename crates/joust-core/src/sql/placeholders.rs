//! The placeholders of a query: `$1`, `?` and `$name` become `$1`, `$2`, ….

use datafusion::sql::sqlparser::tokenizer::Token;

use crate::error::{Error, Result};
use crate::names::short;

/// The most parameters of a query whose values are not known yet.
const MOST: usize = 1_024;

/// Numbers the placeholders: `?` by its position, `$name` by the position of the name in `names`.
pub fn number(mut tokens: Vec<Token>, names: &[String]) -> Result<Vec<Token>> {
    let mut questions = 0;
    let mut numbered = None;
    for token in &mut tokens {
        match token {
            Token::Placeholder(name) if name != "?" => {
                numbered = numbered.or_else(|| Some(name.clone()));
                if let Some(place) = place(name, names) {
                    *name = format!("${}", place + 1);
                }
            }
            Token::Placeholder(_) | Token::Question => {
                questions += 1;
                *token = Token::Placeholder(format!("${questions}"));
            }
            _ => {}
        }
    }
    match numbered {
        Some(name) if questions > 0 => Err(Error::invalid(format!(
            "the query has the placeholders `?` and `{}`; use one form",
            short(&name)
        ))),
        _ => Ok(tokens),
    }
}

/// The position of `$name` in the names. `$1` is a number also if a name is `1`.
fn place(placeholder: &str, names: &[String]) -> Option<usize> {
    let name = placeholder.strip_prefix('$')?;
    match name.parse::<usize>() {
        Ok(_) => None,
        Err(_) => names.iter().position(|known| known == name),
    }
}

/// The number of parameters: the largest `$n`.
pub fn count(tokens: &[Token]) -> Result<usize> {
    let numbers = tokens.iter().filter_map(|token| match token {
        Token::Placeholder(name) => name.strip_prefix('$')?.parse().ok(),
        _ => None,
    });
    match numbers.max().unwrap_or(0) {
        too_many if too_many > MOST => Err(Error::invalid(format!(
            "the query has `${too_many}`; it may have {MOST} parameters"
        ))),
        count => Ok(count),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn numbered(sql: &str, names: &[&str]) -> Result<String> {
        let tokens = Tokenizer::new(&GenericDialect, sql).tokenize().unwrap();
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let tokens = number(tokens, &names)?;
        Ok(tokens.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn question_marks_count_and_names_have_places() {
        assert_eq!(
            numbered("SELECT ?, '?', ? FROM t", &[]).unwrap(),
            "SELECT $1, '?', $2 FROM t"
        );
        assert_eq!(
            numbered("SELECT $b, $1, $other", &["a", "b"]).unwrap(),
            "SELECT $2, $1, $other"
        );
        // A column of the name `1` has its place only.
        assert_eq!(numbered("SELECT $1", &["2", "1"]).unwrap(), "SELECT $1");
        assert!(
            numbered("SELECT ?, $1", &[])
                .unwrap_err()
                .message()
                .contains("one form")
        );
    }

    #[test]
    fn parameters_are_counted() {
        let counted = |sql: &str| count(&Tokenizer::new(&GenericDialect, sql).tokenize().unwrap());
        assert_eq!(counted("SELECT 1").unwrap(), 0);
        assert_eq!(counted("SELECT $2, $1, $2").unwrap(), 2);
        assert!(counted("SELECT $99999").is_err());
    }
}
