//! The languages whose words can be stemmed.

use serde::{Deserialize, Serialize};
use tantivy::tokenizer::{Language as Stemmed, StopWordFilter};

use crate::error::{Error, Result};

/// A language by its English name, in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Language {
    Arabic,
    Danish,
    Dutch,
    English,
    Finnish,
    French,
    German,
    Greek,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Tamil,
    Turkish,
}

use Language::*;

const ALL: &[(Language, &str, Stemmed)] = &[
    (Arabic, "Arabic", Stemmed::Arabic),
    (Danish, "Danish", Stemmed::Danish),
    (Dutch, "Dutch", Stemmed::Dutch),
    (English, "English", Stemmed::English),
    (Finnish, "Finnish", Stemmed::Finnish),
    (French, "French", Stemmed::French),
    (German, "German", Stemmed::German),
    (Greek, "Greek", Stemmed::Greek),
    (Hungarian, "Hungarian", Stemmed::Hungarian),
    (Italian, "Italian", Stemmed::Italian),
    (Norwegian, "Norwegian", Stemmed::Norwegian),
    (Portuguese, "Portuguese", Stemmed::Portuguese),
    (Romanian, "Romanian", Stemmed::Romanian),
    (Russian, "Russian", Stemmed::Russian),
    (Spanish, "Spanish", Stemmed::Spanish),
    (Swedish, "Swedish", Stemmed::Swedish),
    (Tamil, "Tamil", Stemmed::Tamil),
    (Turkish, "Turkish", Stemmed::Turkish),
];

impl Language {
    pub fn parse(name: &str) -> Result<Self> {
        ALL.iter()
            .find(|(_, known, _)| known.eq_ignore_ascii_case(name.trim()))
            .map(|(language, ..)| *language)
            .ok_or_else(|| {
                let known: Vec<&str> = ALL.iter().map(|(_, name, _)| *name).collect();
                Error::invalid(format!(
                    "`language` `{name}` is unknown; use one of {}",
                    known.join(", ")
                ))
            })
    }

    pub fn name(self) -> &'static str {
        self.entry().1
    }

    pub(super) fn stemmed(self) -> Stemmed {
        self.entry().2
    }

    pub fn has_stop_words(self) -> bool {
        StopWordFilter::new(self.stemmed()).is_some()
    }

    fn entry(self) -> &'static (Language, &'static str, Stemmed) {
        // The table has its rows in the order of the variants: a test holds it to that.
        &ALL[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_its_own_row() {
        for (language, name, _) in ALL {
            assert_eq!(language.name(), *name);
            assert_eq!(Language::parse(&name.to_uppercase()).unwrap(), *language);
            assert_eq!(format!("{:?}", language.stemmed()), *name);
            assert_eq!(
                serde_json::to_string(language).unwrap(),
                format!("\"{name}\"")
            );
        }
    }
}
