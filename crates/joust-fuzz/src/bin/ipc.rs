#![no_main]

use joust_fuzz::targets;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    targets::ipc(data);
});
