//! The fields of a segment.

use tantivy::IndexSettings;
use tantivy::schema::{
    FAST, Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::store::Compressor;

pub const TEXT: &str = "text";
pub const ROW: &str = "row";
/// The name under which the index builder looks up its analyzer.
pub const ANALYZER: &str = "joust";

pub fn schema(with_position: bool) -> Schema {
    let record = match with_position {
        true => IndexRecordOption::WithFreqsAndPositions,
        false => IndexRecordOption::WithFreqs,
    };
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(ANALYZER)
        .set_fieldnorms(true)
        .set_index_option(record);
    let mut builder = Schema::builder();
    builder.add_text_field(TEXT, TextOptions::default().set_indexing_options(indexing));
    builder.add_u64_field(ROW, NumericOptions::from(FAST));
    builder.build()
}

pub fn has_positions(schema: &Schema, text: Field) -> bool {
    schema
        .get_field_entry(text)
        .field_type()
        .get_index_record_option()
        .is_some_and(IndexRecordOption::has_positions)
}

/// No document is stored, so no compression and no thread for it is needed.
pub fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compression: Compressor::None,
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}
