//! SQL keywords by their effect on the parser.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::Token;

use super::functions::Place;

/// Keywords that act as binary, postfix or prefix operators.
pub fn is_operator(keyword: Keyword) -> bool {
    use Keyword as K;
    matches!(
        keyword,
        K::IS
            | K::LIKE
            | K::ILIKE
            | K::IN
            | K::NOT
            | K::DIV
            | K::COLLATE
            | K::AT
            | K::SIMILAR
            | K::RLIKE
            | K::REGEXP
            | K::ESCAPE
            | K::XOR
            | K::INTERVAL
            | K::PRIOR
            | K::EXISTS
            | K::CASE
            | K::DATE
            | K::TIME
            | K::TIMESTAMP
            | K::ANY
            | K::ALL
            | K::SOME
            | K::DISTINCT
            | K::NOTNULL
    )
}

/// Keywords that begin a form which the parser reads again as a call if it does not parse, and nested types.
pub fn is_form(keyword: Keyword) -> bool {
    use Keyword as K;
    matches!(
        keyword,
        K::CASE
            | K::CAST
            | K::TRY_CAST
            | K::SAFE_CAST
            | K::CONVERT
            | K::TRY_CONVERT
            | K::CEIL
            | K::FLOOR
            | K::POSITION
            | K::SUBSTR
            | K::SUBSTRING
            | K::OVERLAY
            | K::TRIM
            | K::EXTRACT
            | K::NOT
            | K::IN
            | K::ANY
            | K::ALL
            | K::SOME
            | K::EXISTS
            | K::INTERVAL
            | K::ARRAY
            | K::STRUCT
            | K::MAP
            | K::TUPLE
            | K::NESTED
            | K::NULLABLE
            | K::LOWCARDINALITY
            | K::UNION
            | K::MATCH
            | K::LAMBDA
            | K::PRIOR
            | K::CURRENT_DATE
            | K::CURRENT_TIME
            | K::CURRENT_TIMESTAMP
            | K::LOCALTIME
            | K::LOCALTIMESTAMP
    )
}

/// Keywords of a statement that end the effect of a NOT before them.
pub fn begins_a_clause(keyword: Keyword) -> bool {
    use Keyword as K;
    matches!(
        keyword,
        K::UNION | K::EXCEPT | K::INTERSECT | K::MINUS | K::WHERE | K::HAVING | K::GROUP | K::ORDER
    )
}

/// Whether the content of a bracket could be a query, which the parser tries first.
pub fn begins_a_query(token: &Token, place: Place) -> bool {
    use Keyword as K;
    match token {
        Token::Word(word) if word.quote_style.is_none() => matches!(
            word.keyword,
            K::SELECT | K::WITH | K::VALUES | K::VALUE | K::TABLE | K::FROM
        ),
        Token::LParen => place == Place::View,
        _ => false,
    }
}

/// Whether a token after INTERVAL could begin another form. Any word could: `in (` is a call there.
pub fn begins_a_form(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.quote_style.is_none(),
        Token::LParen | Token::LBracket | Token::LBrace | Token::Minus | Token::Plus => true,
        Token::Tilde | Token::ExclamationMark => true,
        _ => false,
    }
}
