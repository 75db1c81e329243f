//! Panics of Arrow's readers.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a reader of Arrow, which may panic on malformed input. `None` if it did.
///
/// Nothing is printed: a client must not fill the log with malformed uploads.
pub(super) fn contained<T>(read: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let next = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !CONTAINED.get() {
                next(info);
            }
        }));
    });
    CONTAINED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(read));
    CONTAINED.set(false);
    outcome.ok()
}
