//! The rayon threads on which Lance computes the clusters and graphs of vector indexes.

/// Starts the threads, once. They have a low priority, because the construction of a graph cannot be interrupted, even
/// if its build is cancelled.
///
/// This waits until they run. They only run after the library is loaded, so the load must not call it.
pub fn start() {
    let pool = rayon::ThreadPoolBuilder::new()
        .thread_name(|number| format!("joust-build-{number}"))
        .start_handler(|_| yield_to_others());
    // Fails only if a pool exists already; then its threads are used.
    let _ = pool.build_global();
}

/// Lowers the priority of this thread.
fn yield_to_others() {
    #[cfg(target_os = "linux")]
    {
        /// From 0, the default of all other threads, to 19.
        const NICE: libc::c_int = 10;
        // SAFETY: no memory is passed; 0 is the calling thread, and lowering its priority needs no
        // right.
        unsafe {
            libc::setpriority(libc::PRIO_PROCESS, 0, NICE);
        }
    }
}
