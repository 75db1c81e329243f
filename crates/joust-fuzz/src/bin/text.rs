#![no_main]

use std::sync::LazyLock;

use joust_fuzz::{Texts, targets};
use libfuzzer_sys::fuzz_target;

static TEXTS: LazyLock<Texts> = LazyLock::new(Texts::new);

fuzz_target!(|data: &[u8]| {
    targets::text(&TEXTS, data);
});
