//! Settles Promises from the engine's threads.
//!
//! The default of Node-API is one thread-safe function for each Promise: a handle that the event loop creates, polls on
//! every call of any of them, and closes, for each request. Here each event loop has one such function; a call settles
//! all work that has ended since the previous call.

use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::bindgen_prelude::{PromiseRaw, ToNapiValue};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, JsError, Status, check_status, sys};

/// Settles a waiting Promise.
type Settle = Box<dyn FnOnce(&Env)>;
type Wake = ThreadsafeFunction<(), (), (), Status, false, true>;

thread_local! {
    /// The event loop of this thread: Node gives a thread one environment.
    static LOOP: RefCell<Option<Loop>> = const { RefCell::new(None) };
}

/// The waiting Promises of one event loop.
struct Loop {
    env: sys::napi_env,
    ended: Arc<Ended>,
    waiting: HashMap<u64, Settle>,
    last: u64,
}

/// Work that has ended on the engine's threads and is not settled yet.
struct Ended {
    numbers: Mutex<Vec<u64>>,
    wake: Wake,
}

/// Dropping this tells the event loop that the work has ended, successful or not.
pub struct End {
    number: u64,
    ended: Arc<Ended>,
}

impl Drop for End {
    fn drop(&mut self) {
        let mut numbers = self.ended.numbers();
        numbers.push(self.number);
        let is_first = numbers.len() == 1;
        drop(numbers);
        // The call for the first also covers later ones. A closed event loop waits for nothing.
        if is_first {
            self.ended
                .wake
                .call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }
}

impl Ended {
    fn numbers(&self) -> MutexGuard<'_, Vec<u64>> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls `settle` on this event loop after the end was dropped. Until then the process stays alive.
pub fn await_end(env: &Env, settle: impl FnOnce(&Env) + 'static) -> napi::Result<End> {
    LOOP.with_borrow_mut(|known| {
        let this = match known {
            Some(this) if this.env == env.raw() => this,
            other => other.insert(Loop::new(env)?),
        };
        if this.waiting.is_empty() {
            this.hold()?;
        }
        this.last += 1;
        this.waiting.insert(this.last, Box::new(settle));
        Ok(End {
            number: this.last,
            ended: this.ended.clone(),
        })
    })
}

impl Loop {
    fn new(env: &Env) -> napi::Result<Self> {
        let settle = env.create_function_from_closure::<(), (), _>("settle", |context| {
            settle_ended(context.env);
            Ok(())
        })?;
        let wake = settle
            .build_threadsafe_function::<()>()
            .weak::<true>()
            .build()?;
        Ok(Self {
            env: env.raw(),
            ended: Arc::new(Ended {
                numbers: Mutex::default(),
                wake,
            }),
            waiting: HashMap::new(),
            last: 0,
        })
    }

    /// Keeps the event loop running.
    fn hold(&self) -> napi::Result<()> {
        // SAFETY: the function is this environment's, and this is its thread.
        check_status!(unsafe { sys::napi_ref_threadsafe_function(self.env, self.ended.wake.raw()) })
    }

    /// Allows the event loop to end.
    fn let_go(&self) -> napi::Result<()> {
        // SAFETY: as above.
        check_status!(unsafe {
            sys::napi_unref_threadsafe_function(self.env, self.ended.wake.raw())
        })
    }
}

/// Settles all ended work.
fn settle_ended(env: &Env) {
    let numbers = LOOP.with_borrow(|known| {
        let ended = known.as_ref().map(|this| &this.ended);
        ended.map_or_else(Vec::new, |ended| std::mem::take(&mut *ended.numbers()))
    });
    for number in numbers {
        // Building a value may run JavaScript, which may start more work.
        let settle = LOOP.with_borrow_mut(|known| known.as_mut()?.waiting.remove(&number));
        if let Some(settle) = settle {
            settle(env);
        }
    }
    LOOP.with_borrow(|known| {
        if let Some(this) = known.as_ref().filter(|this| this.waiting.is_empty()) {
            // Fails only while the environment is closing.
            let _ = this.let_go();
        }
    });
}

/// The resolver of a Promise.
pub struct Deferred(sys::napi_deferred);

impl Deferred {
    pub fn new<V>(env: &Env) -> napi::Result<(Self, PromiseRaw<'_, V>)> {
        let (mut deferred, mut promise) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: both are written by the call before it returns.
        check_status!(unsafe { sys::napi_create_promise(env.raw(), &mut deferred, &mut promise) })?;
        Ok((Self(deferred), PromiseRaw::new(env.raw(), promise)))
    }

    /// Settles the Promise with the result of `make`, on the thread that created the Promise. An error or a panic in
    /// `make` rejects only this Promise.
    pub fn settle<V: ToNapiValue>(self, env: &Env, make: impl FnOnce(&Env) -> napi::Result<V>) {
        let raw = env.raw();
        let made = catch_unwind(AssertUnwindSafe(|| {
            let value = make(env)?;
            // SAFETY: this is the environment's thread.
            unsafe { V::to_napi_value(raw, value) }
        }));
        let made = made.unwrap_or_else(|_| Err(napi::Error::from_reason("the engine failed")));
        // SAFETY: as above, and settling consumes the deferred. A failure means that the environment is closing: no
        // caller waits any more.
        unsafe {
            match made {
                Ok(value) => sys::napi_resolve_deferred(raw, self.0, value),
                Err(error) => {
                    // A pending JavaScript exception would block all later calls.
                    let mut thrown = ptr::null_mut();
                    sys::napi_get_and_clear_last_exception(raw, &raw mut thrown);
                    let error = match error.status {
                        Status::PendingException => thrown,
                        _ => JsError::from(error).into_value(raw),
                    };
                    sys::napi_reject_deferred(raw, self.0, error)
                }
            };
        }
    }
}
