#![no_main]

use std::sync::LazyLock;

use joust_fuzz::{World, targets};
use libfuzzer_sys::fuzz_target;

static WORLD: LazyLock<World> = LazyLock::new(World::new);

fuzz_target!(init: LazyLock::force(&WORLD), |data: &[u8]| {
    targets::query(&WORLD, data);
});
