//! The threads that Lance computes clusters and graphs of vector indexes on: rayon's.

/// Starts them, once. A graph that is being built can't be stopped, also when its build is cancelled: so the
/// threads leave the cores to whatever else wants them.
///
/// It waits until they run, which they do not before the library is loaded: loading it must not wait.
pub fn start() {
    let pool = rayon::ThreadPoolBuilder::new()
        .thread_name(|number| format!("joust-build-{number}"))
        .start_handler(|_| yield_to_others());
    // Only a pool that is there already is refused, and then its threads do the work.
    let _ = pool.build_global();
}

/// Gives this thread a low priority.
fn yield_to_others() {
    #[cfg(target_os = "linux")]
    {
        /// Of 0, which all other threads have, to 19.
        const NICE: libc::c_int = 10;
        // SAFETY: no memory is passed; 0 is the calling thread, and lowering its priority needs no
        // right.
        unsafe {
            libc::setpriority(libc::PRIO_PROCESS, 0, NICE);
        }
    }
}
