//! The kinds of index and their names in the interfaces.

use crate::error::{Error, Result};

/// A kind of index that can be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    IvfFlat,
    IvfSq,
    IvfPq,
    IvfRq,
    IvfHnswFlat,
    IvfHnswSq,
    IvfHnswPq,
    BTree,
    Bitmap,
    LabelList,
    NGram,
    ZoneMap,
    BloomFilter,
    Fm,
    /// Lance's native full-text index.
    Inverted,
    /// joust's own full-text index.
    Text,
}

use Kind::*;

/// All kinds, in the order of their declaration. `Text` has to be the last one: then the compiler requires an entry for
/// each kind. A kind without one cannot be requested.
const KINDS: [Kind; Text as usize + 1] = [
    IvfFlat,
    IvfSq,
    IvfPq,
    IvfRq,
    IvfHnswFlat,
    IvfHnswSq,
    IvfHnswPq,
    BTree,
    Bitmap,
    LabelList,
    NGram,
    ZoneMap,
    BloomFilter,
    Fm,
    Inverted,
    Text,
];

impl Kind {
    /// A kind by its name, in any case, with or without underscores.
    pub fn parse(name: &str) -> Result<Self> {
        let plain = plain(name);
        let found = match plain.as_str() {
            "FMINDEX" => Some(Fm),
            _ => KINDS
                .into_iter()
                .find(|kind| self::plain(kind.name()) == plain),
        };
        found.ok_or_else(|| {
            let known = KINDS.map(Self::name).join(", ");
            Error::invalid(format!("`{name}` is no index type; use one of {known}"))
        })
    }

    /// The interface's name.
    pub const fn name(self) -> &'static str {
        match self {
            IvfFlat => "IVF_FLAT",
            IvfSq => "IVF_SQ",
            IvfPq => "IVF_PQ",
            IvfRq => "IVF_RQ",
            IvfHnswFlat => "IVF_HNSW_FLAT",
            IvfHnswSq => "IVF_HNSW_SQ",
            IvfHnswPq => "IVF_HNSW_PQ",
            BTree => "BTREE",
            Bitmap => "BITMAP",
            LabelList => "LABEL_LIST",
            NGram => "NGRAM",
            ZoneMap => "ZONEMAP",
            BloomFilter => "BLOOM_FILTER",
            Fm => "FM",
            Inverted => "INVERTED",
            Text => "FTS",
        }
    }

    /// The kind in LanceDB's notation of messages and listings: `LabelList`, `IvfPq`, `FTS`.
    pub fn title(self) -> String {
        match self {
            Inverted | Text => Text.name().to_string(),
            other => format!("{other:?}"),
        }
    }

    pub fn is_vector(self) -> bool {
        match self {
            IvfFlat | IvfSq | IvfPq | IvfRq | IvfHnswFlat | IvfHnswSq | IvfHnswPq => true,
            BTree | Bitmap | LabelList | NGram | ZoneMap | BloomFilter | Fm | Inverted | Text => {
                false
            }
        }
    }

    pub fn is_product_quantized(self) -> bool {
        matches!(self, IvfPq | IvfHnswPq)
    }
}

/// The interface's name for Lance's name of an index type; `Unknown` for internal types.
pub fn public_name(lance: &str) -> &'static str {
    Kind::parse(lance).map_or("Unknown", Kind::name)
}

fn plain(name: &str) -> String {
    name.chars()
        .filter(|c| *c != '_')
        .map(|c| c.to_ascii_uppercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_name_that_leads_back_to_it() {
        for (place, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(
                kind as usize, place,
                "{kind:?} is at a wrong place in KINDS"
            );
            assert_eq!(Kind::parse(kind.name()).unwrap(), kind);
            // Lance's notation is the name of the variant.
            if kind != Text {
                assert_eq!(public_name(&format!("{kind:?}")), kind.name());
            }
            assert_eq!(kind.is_vector(), kind.name().starts_with("IVF_"));
        }
    }

    #[test]
    fn every_spelling_of_a_kind_is_known() {
        for name in ["IVF_PQ", "ivf_pq", "IvfPq", "IVFPQ"] {
            assert_eq!(Kind::parse(name).unwrap(), IvfPq);
        }
        assert_eq!(public_name("LabelList"), "LABEL_LIST");
        assert_eq!(public_name("BloomFilter"), "BLOOM_FILTER");
        assert_eq!(public_name("FragmentReuse"), "Unknown");
    }

    #[test]
    fn an_unknown_kind_is_refused_with_the_known_ones() {
        let error = Kind::parse("IVF_XX").unwrap_err();
        assert!(error.message().contains("IVF_PQ"), "{error}");
    }
}
